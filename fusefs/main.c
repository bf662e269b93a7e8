/* SPDX-License-Identifier: MIT */
#include "core/base/process.h"
#include "fusefs/base/inherited.h"
#include "mount.h"
#include "serve.h"
#include "session.h"
#include "signals.h"

#include <stdio.h>
#include <string.h>

/* mpiio-fused(8): the daemon of a mount. */
int main(int argc, char **argv)
{
    struct fs_options options;
    struct fs_session session;
    struct fs_inherited inherited;
    int error = fs_inherited_note(&inherited);
    int status = 2;

    if (error != 0) {
        fprintf(stderr, "mpiio-fused: /proc/self/fd: %s\n", strerror(-error));
        return 1;
    }
    /* Root writes for callers who must not leave a changed set-user-ID program behind. */
    mpiio_capability_drop_fsetid();
    fs_signals_ignore();
    if (fs_options_parse(&options, argc, argv) != 0)
        goto out;
    status = 0;
    if (options.help) {
        fs_options_help();
        goto out;
    }
    if (options.version) {
        printf("mpiio-fused %s\n", MPIIO_VERSION);
        goto out;
    }
    status = fs_mount_open(&session, &options);
    fs_inherited_close(&inherited, options.engine_fd);
    if (status == 0)
        status = fs_session_run(&session);
    fs_mount_close(&session);
out:
    fs_options_free(&options);
    return status;
}
