/* SPDX-License-Identifier: MIT */
#ifndef VIEW_SUSPECT_H
#define VIEW_SUSPECT_H

/* Private to mpiio-view check: what about a file looks as if its view were not meant for it. */

#include "survey.h"

/*
 * Says on stderr, each in a line, what is suspicious about the file of a view. Looks at the file's
 * size and at some thousand of its values, wherever they are; a file that cannot be read tells
 * nothing. `view` is what messages call the view. Not thread-safe.
 */
void view_suspect(const struct view_survey *survey, const struct vs_spec *spec, size_t index,
                  const char *view);

#endif
