/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LOAD_H
#define MPIIO_LOAD_H

#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads the spec in the file (or pipe) named path, and parses it with vs_spec_parse. The path of
 * the shared file becomes absolute: a relative one in the spec is resolved from the folder of the
 * spec, and overrides->file and overrides->datarep_library from the working folder.
 * mpiio_datarep_load (datarep.h) loads user-defined data representations, with
 * overrides->datarep_argument, unless overrides has its own loader. Returns 0 or a negative errno
 * with error filled. Local, thread-safe. The caller frees the spec with vs_spec_free.
 */
int mpiio_spec_load(const char *path, const struct vs_overrides *overrides, struct vs_spec **spec,
                    struct vs_error *error);

/*
 * Does the same for a view in shorthand (shorthand.h), with vs_spec_parse_shorthand. Relative paths
 * are resolved from the working folder. The source in errors is "--view" if overrides->from_options
 * is set, else "view".
 */
int mpiio_spec_load_shorthand(const char *text, const struct vs_overrides *overrides,
                              struct vs_spec **spec, struct vs_error *error);

/*
 * Parses the text of spec, which was loaded from path, again with other overrides, like
 * mpiio_spec_load. Does not read path again, because it may be a pipe.
 */
int mpiio_spec_reload(const struct vs_spec *spec, const char *path,
                      const struct vs_overrides *overrides, struct vs_spec **again,
                      struct vs_error *error);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
