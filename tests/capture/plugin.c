/* SPDX-License-Identifier: MIT */
/*
 * A program that is not linked with MPI, but loads a plugin that is, as an interpreter does. The
 * library's symbols are local to the plugin.
 *
 *   mpiexec -n RANKS plugin FILE
 */
#ifdef PLUGIN
#include "program.h"

int plugin_main(int argc, char **argv);

int plugin_main(int argc, char **argv)
{
    start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_File file = open_filled(argv[1], 64);
    set_view(file, 8 * rank, MPI_DOUBLE, MPI_DOUBLE);
    check(MPI_File_close(&file), "MPI_File_close");
    MPI_Finalize();
    return 0;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run)(int, char **);
    void *plugin = dlopen(PLUGIN_PATH, RTLD_NOW | RTLD_LOCAL), *address;

    address = plugin ? dlsym(plugin, "plugin_main") : NULL;
    if (!address) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&run, &address, sizeof(run));
    return run(argc, argv);
}
#endif
