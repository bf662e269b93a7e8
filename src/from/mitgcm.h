/* SPDX-License-Identifier: MIT */
#ifndef FROM_MITGCM_H
#define FROM_MITGCM_H

#include "from.h"

/* The .meta files of MITgcm, each of which describes the .data file beside it. */
extern const struct from_format from_mitgcm;

#endif
