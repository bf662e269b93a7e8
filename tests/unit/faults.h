/* SPDX-License-Identifier: MIT */
#ifndef FAULTS_H
#define FAULTS_H

/* Support for tests that touch missing pages. Under an emulator, SIGBUS may report a wrong address
   for such a page. */

#include <signal.h>
#include <sys/mman.h>

#include "slice_fixture.h"

static sigjmp_buf faults_back;
static volatile uintptr_t faults_address;

static inline void faults_note(int number, siginfo_t *info, void *context)
{
    faults_address = (uintptr_t)info->si_addr;
    siglongjmp(faults_back, 1);
}

/* Returns true if handlers of SIGBUS get the address of the missing page. */
static inline bool has_faults(void)
{
    FILE *empty = tmpfile();
    struct sigaction action = {.sa_flags = SA_SIGINFO}, before;
    volatile const char *page;

    assert_non_null(empty);
    page = mmap(NULL, 1, PROT_READ, MAP_SHARED, fileno(empty), 0);
    assert_true(page != MAP_FAILED);
    action.sa_sigaction = faults_note;
    assert_int_equal(sigaction(SIGBUS, &action, &before), 0);
    if (sigsetjmp(faults_back, 1) == 0)
        (void)*page;
    assert_int_equal(sigaction(SIGBUS, &before, NULL), 0);
    munmap((void *)(uintptr_t)page, 1);
    fclose(empty);
    return faults_address / 4096 == (uintptr_t)page / 4096;
}

/* Restores the guard's action for a test that touches missing pages. Returns from a test that
   cannot run here. */
#define FAULTS_OR_RETURN()                                                                         \
    do {                                                                                           \
        if (!has_faults())                                                                         \
            CANNOT_RUN("the emulator reports wrong fault addresses");                              \
        restore_guard();                                                                           \
    } while (0)

#endif
