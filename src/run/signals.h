/* SPDX-License-Identifier: MIT */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

/*
 * exec(3) keeps ignored signals ignored. If the program ignores SIGBUS, run_signals_before_exec
 * removes libmpiio's handler so that the kernel ignores it, and run_signals_after_exec restores the
 * handler when exec has failed. Both keep errno and are async-signal-safe.
 */
void run_signals_before_exec(void);
void run_signals_after_exec(void);

#endif
