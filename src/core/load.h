/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LOAD_H
#define MPIIO_LOAD_H

#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads the spec in the file (or pipe) named path, by vs_spec_parse. The path of the shared file
 * becomes absolute: the spec's relative one is taken from the folder that the spec is in, and
 * overrides->file and overrides->datarep_library from the working folder. User-defined data
 * representations are loaded by mpiio_datarep_load (datarep.h), with overrides->datarep_argument,
 * unless overrides have a loader of their own. Returns 0 or a negative errno, with error filled.
 * Local, thread-safe. The new spec is the caller's: vs_spec_free.
 */
int mpiio_spec_load(const char *path, const struct vs_overrides *overrides, struct vs_spec **spec,
                    struct vs_error *error);

/*
 * The same for a view in shorthand (shorthand.h), by vs_spec_parse_shorthand. Relative paths are
 * taken from the working folder. The source in errors is "--view" if overrides->from_options is
 * set, else "view".
 */
int mpiio_spec_load_shorthand(const char *text, const struct vs_overrides *overrides,
                              struct vs_spec **spec, struct vs_error *error);

/*
 * Parses the text of spec, which was loaded from path, again with other overrides, as
 * mpiio_spec_load does: path itself, which may be a pipe, is not read again.
 */
int mpiio_spec_reload(const struct vs_spec *spec, const char *path,
                      const struct vs_overrides *overrides, struct vs_spec **again,
                      struct vs_error *error);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
