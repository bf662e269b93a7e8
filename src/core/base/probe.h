/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PROBE_H
#define MPIIO_PROBE_H

/*
 * Static probes (USDT) of the provider mpiio for bpftrace(8) and perf(1): MPIIO_PROBE(name,
 * argument, ...). An unused probe is one nop, but its arguments are computed. mpiio-fused(8) lists
 * the probes and their arguments. Without <sys/sdt.h> (meson option probes) they are empty.
 */
#ifdef MPIIO_PROBES
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#ifdef __clang__ /* it warns about the way <sys/sdt.h> counts arguments */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define MPIIO_PROBE(...) STAP_PROBEV(mpiio, __VA_ARGS__)
#else
#define MPIIO_PROBE(...) ((void)0)
#endif

#endif
