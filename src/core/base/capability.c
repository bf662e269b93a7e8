/* SPDX-License-Identifier: MIT */
#include "capability.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETS _LINUX_CAPABILITY_U32S_3

static struct __user_cap_header_struct header_of_this_thread(void)
{
    return (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
}

bool mpiio_capability_has(int capability)
{
    struct __user_cap_header_struct header = header_of_this_thread();
    struct __user_cap_data_struct sets[SETS];

    return syscall(SYS_capget, &header, sets) == 0 &&
           (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

void mpiio_capability_drop_fsetid(void)
{
    struct __user_cap_header_struct header = header_of_this_thread();
    struct __user_cap_data_struct sets[SETS];

    if (syscall(SYS_capget, &header, sets) != 0)
        return;
    sets[CAP_TO_INDEX(CAP_FSETID)].effective &= ~(uint32_t)CAP_TO_MASK(CAP_FSETID);
    /* Giving up a capability needs no permission. */
    syscall(SYS_capset, &header, sets);
}
