/* SPDX-License-Identifier: MIT */
#ifndef FS_STATS_H
#define FS_STATS_H

struct fs_session;

/* The present text of stats.json: new, the caller's to free(); NULL without memory. */
char *fs_stats_text(struct fs_session *session);

#endif
