/* SPDX-License-Identifier: MIT */
#ifndef VS_SPEC_PRIVATE_H
#define VS_SPEC_PRIVATE_H

#include "spec.h"

/* Private to viewspec/: what owner.h needs of a spec. */

/*
 * Whether the ranks' views differ by what is dealt to them alone; if so, the only rank that may own
 * the byte at displacement, or -1.
 */
bool vs_spec_dealt_to(const struct vs_spec *spec, size_t index, int64_t displacement,
                      int64_t *rank);

#endif
