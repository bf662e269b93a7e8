/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "core/file/acl.h"
#include "fusefs/jobs/jobs.h"
#include "fusefs/storing/nodes.h"
#include "shared.h"

/* Extended attributes. */

#define PREFIX          "user.mpiio."
#define ATOMICITY       PREFIX "atomicity"
#define SHARED_POSITION PREFIX "shared_position"
#define SEEK            "shared_seek."
#define LOG             PREFIX "log"
#define SET_LOG         "log."
#define NUMBER_MAX      24

static const char slice_names[] =
    PREFIX "about\0" PREFIX "view\0" PREFIX "rank\0" PREFIX "disp\0" PREFIX "etype\0" PREFIX
           "filetype\0" PREFIX "datarep\0" PREFIX "extent\0" PREFIX "tile_size";
static const char shared_names[] =
    PREFIX "about\0" PREFIX "view\0" PREFIX "disp\0" PREFIX "etype\0" PREFIX "filetype\0" PREFIX
           "datarep\0" PREFIX "extent\0" PREFIX "tile_size\0" SHARED_POSITION;
static const char root_names[] =
    PREFIX "nodes\0" PREFIX "state\0" ATOMICITY "\0" PREFIX "epoch\0" LOG;

/* A value: text, which number or made holds where it is not borrowed. */
struct value {
    const char *text;
    char number[NUMBER_MAX];
    char *made; /* freed by the user */
};

static void set_made(struct value *value, char *made)
{
    value->made = made;
    value->text = made;
}

static void set_number(struct value *value, int64_t number)
{
    snprintf(value->number, sizeof(value->number), "%lld", (long long)number);
    value->text = value->number;
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Describes in words what a tile of the view holds. */
static void write_tile(FILE *out, const struct vs_view *view)
{
    const struct vs_map_facts *map = vs_map_facts(vs_view_map(view));
    const struct vs_view_facts *facts = vs_view_facts(view);
    int64_t etypes = map->tile_size / facts->etype_file_size;

    if (facts->basic != NULL)
        fprintf(out, "%lld x %s", (long long)(etypes * (facts->etype_size / facts->basic->size)),
                facts->basic->name);
    else
        fprintf(out, "%lld etype%s of %lld bytes", (long long)etypes, plural(etypes),
                (long long)facts->etype_size);
    fprintf(out, " of each %lld byte%s from byte %lld on", (long long)map->tile_extent,
            plural(map->tile_extent), (long long)map->displacement);
    if (map->tiles < INT64_MAX)
        fprintf(out, ", %lld tile%s", (long long)map->tiles, plural(map->tiles));
    if (facts->memory != NULL) {
        for (int64_t d = 0; d < facts->memory->dimensions; d++)
            fprintf(out, "%s%lld", d == 0 ? "; an array of " : " x ",
                    (long long)facts->memory->owned[d]);
        fprintf(out, ", %s order", facts->memory->fortran ? "Fortran" : "C");
    } else if (vs_view_has_order(view)) {
        fprintf(out, "; in an order of its own");
    }
    if (facts->datarep != VS_NATIVE)
        fprintf(out, "; %s", facts->datarep_name);
}

/* A slice in words: new, the caller's to free(); NULL without memory. */
static char *about(struct fs_session *session, struct fs_node node, const struct vs_view *view)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    if (fs_tree_is_whole(&session->tree, node))
        fputs("all bytes of the members: ", out);
    else if (node.shared)
        fputs("what all ranks see, at the shared file pointer: ", out);
    else
        fprintf(out, "rank %lld of %lld: ", (long long)node.rank, (long long)session->tree.ranks);
    if (vs_map_facts(vs_view_map(view))->tile_size == 0)
        fputs("nothing", out);
    else
        write_tile(out, view);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Finds a value of a view by its name without the prefix. If none has it, text stays NULL. */
static void view_value(struct fs_session *session, struct fs_node node, const struct vs_view *view,
                       const char *name, struct value *value)
{
    const struct vs_map_facts *map = vs_map_facts(vs_view_map(view));
    const char *view_name =
        fs_tree_is_whole(&session->tree, node) ? NULL : vs_spec_view_name(session->spec, node.view);

    if (strcmp(name, "about") == 0)
        set_made(value, about(session, node, view));
    else if (strcmp(name, "view") == 0)
        value->text = view_name ? view_name : "";
    else if (strcmp(name, "rank") == 0 && !node.shared)
        set_number(value, node.rank);
    else if (strcmp(name, "disp") == 0)
        set_number(value, map->displacement);
    else if (strcmp(name, "etype") == 0)
        set_made(value, vs_view_etype_text(view));
    else if (strcmp(name, "filetype") == 0)
        set_made(value, vs_view_filetype_text(view));
    else if (strcmp(name, "datarep") == 0)
        set_made(value, strdup(vs_view_facts(view)->datarep_name)); /* the view may be freed */
    else if (strcmp(name, "extent") == 0)
        set_number(value, map->tile_extent);
    else if (strcmp(name, "tile_size") == 0)
        set_number(value, map->tile_size);
}

static void root_value(struct fs_session *session, const char *name, struct value *value)
{
    struct fs_jobs *jobs = &session->jobs;

    if (strcmp(name, "nodes") == 0)
        set_number(value, session->cluster.nodes);
    else if (strcmp(name, "state") == 0)
        value->text = fs_nodes_is_degraded(&session->cluster) ? "degraded" : "ok";
    else if (strcmp(name, "epoch") == 0)
        set_number(value, (int64_t)fs_flusher_epochs(&session->flusher));
    else if (strcmp(name, "atomicity") == 0)
        value->text = fs_atomic_is_on(&session->atomic) ? "1" : "0";
    else if (strcmp(name, "log") == 0)
        value->text = fs_log_level(&session->log);
    else if (strcmp(name, "unsaved") == 0)
        set_made(value,
                 MPIIO_LOCKED(&jobs->lock, jobs->unsaved != NULL ? strdup(jobs->unsaved) : NULL));
}

static void reply_value(fuse_req_t request, const char *text, size_t length, size_t size)
{
    if (length > XATTR_SIZE_MAX)
        fuse_reply_err(request, E2BIG);
    else if (size == 0)
        fuse_reply_xattr(request, length);
    else if (length > size)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, text, length);
}

static bool is_owner(fuse_req_t request)
{
    uid_t user = fuse_req_ctx(request)->uid;

    return user == 0 || user == geteuid();
}

/* Sets the level of the log for the mount's owner or root. Returns 0 or a negative errno. */
static int set_log(struct fs_session *session, fuse_req_t request, const char *name, size_t length)
{
    return is_owner(request) ? fs_log_set_level(&session->log, name, length) : -EPERM;
}

/*
 * Acts on an unlisted name of the root when its value is read, because the kernel lets nobody set
 * attributes of a read-only mount. Returns 0, a negative errno, -ENODATA if it is no such name, or
 * 1 if the request is answered later.
 */
static int do_named(struct fs_session *session, fuse_req_t request, const char *name, size_t size,
                    struct value *value)
{
    bool force = strcmp(name, "unmount_force") == 0;
    int error;

    if (strncmp(name, SET_LOG, strlen(SET_LOG)) == 0) {
        name += strlen(SET_LOG);
        value->text = "";
        return set_log(session, request, name, strlen(name));
    }
    if ((!force && strcmp(name, "unmount") != 0) || !fs_cluster_is_on(&session->cluster))
        return -ENODATA;
    if (!is_owner(request))
        return -EPERM;
    value->text = "0";
    if (size == 0) /* A caller who asks for the length alone asks again for the value. */
        return 0;
    error =
        fs_jobs_run(&session->jobs,
                    &(struct fs_job){
                        .run = fs_unmount_all, .apart = force, .request = request, .value = force});
    return error != 0 ? error : 1;
}

/* Returns the accesses that a node allows to anybody, as bits of a mode. */
static unsigned possible(struct fs_session *session, struct fs_node node)
{
    struct fs_slice *slice;
    bool writable;

    if (node.kind != FS_SLICE || session->read_only != 0 || fs_slice_of(session, node, &slice) != 0)
        return R_OK;
    writable = mpiio_slice_is_writable(slice->slice);
    fs_slices_put(&session->slices, slice);
    return writable ? R_OK | W_OK : R_OK;
}

/* The access control list by which the kernel judges who may do what. */
static void reply_list(fuse_req_t request, struct fs_node node, size_t size)
{
    struct fs_session *session = fs_session_of(request);
    void *list = size > 0 ? malloc(size) : NULL;
    ssize_t length = -ENOMEM;

    if (size == 0 || list != NULL)
        length = fs_rights_list(&session->rights, node, possible(session, node), list, size);
    if (length < 0)
        fuse_reply_err(request, (int)-length);
    else
        reply_value(request, list, (size_t)length, size);
    free(list);
}

/*
 * Moves the pointer by a getxattr, for mounts where no attribute can be set. The kernel lets every
 * reader ask. A reader who moves the pointer of a writable mount back has writers overwrite each
 * other's records, so others must set the attribute there, for which the kernel demands write
 * permission. 0 or a negative errno.
 */
static int seek_by_name(struct fs_session *session, fuse_req_t request, struct fs_node node,
                        const char *position, size_t size)
{
    if (!is_owner(request) && (possible(session, node) & W_OK) != 0)
        return -EACCES;
    /* A caller who asks for the length alone asks again for the value. */
    return size > 0 ? fs_shared_seek(session, node, position, strlen(position)) : 0;
}

/* Finds the pointer's position, or moves the pointer. -ENODATA where the name is another one. */
static int pointer_value(struct fs_session *session, fuse_req_t request, struct fs_node node,
                         const char *name, size_t size, struct value *value)
{
    int64_t position;
    uint64_t turn;
    int error;

    if (session->stream != NULL)
        return strncmp(name, "shared_", strlen("shared_")) == 0 ? -EOPNOTSUPP : -ENODATA;
    if (strncmp(name, SEEK, strlen(SEEK)) == 0) {
        value->text = size > 0 ? "" : "0";
        return seek_by_name(session, request, node, name + strlen(SEEK), size);
    }
    if (strcmp(name, &SHARED_POSITION[strlen(PREFIX)]) != 0)
        return -ENODATA;
    error = mpiio_pointers_get(session->pointers.pointers, node.view, &position, &turn);
    if (error == 0)
        set_number(value, position);
    return error;
}

static int slice_value(struct fs_session *session, fuse_req_t request, struct fs_node node,
                       const char *name, size_t size, struct value *value)
{
    struct fs_slice *slice;
    int error = node.shared ? pointer_value(session, request, node, name, size, value) : -ENODATA;

    if (error != -ENODATA)
        return error;
    error = fs_slice_of(session, node, &slice);
    if (error != 0)
        return error;
    view_value(session, node, mpiio_slice_view(slice->slice), name, value);
    fs_slices_put(&session->slices, slice);
    return 0;
}

/* Finds the rank whose turn it is. */
static int turn_value(const struct fs_session *session, struct fs_node node, struct value *value)
{
    int64_t position;
    uint64_t turn;
    int error = mpiio_pointers_get(session->pointers.pointers, node.view, &position, &turn);

    if (error == 0)
        set_number(value, (int64_t)(turn % (uint64_t)session->tree.ranks));
    return error;
}

/*
 * Finds the value of an attribute by its name without the prefix, or acts on the name. Leaves text
 * NULL if the node has no such attribute. Returns 0, a negative errno, or 1 if the request is
 * answered later.
 */
static int find_value(struct fs_session *session, fuse_req_t request, struct fs_node node,
                      const char *name, size_t size, struct value *value)
{
    if (node.kind == FS_SLICE)
        return slice_value(session, request, node, name, size, value);
    if (node.kind == FS_ORDERED && strcmp(name, "turn") == 0)
        return turn_value(session, node, value);
    if (node.kind != FS_ROOT)
        return 0;
    root_value(session, name, value);
    return value->text != NULL ? 0 : do_named(session, request, name, size, value);
}

void fs_getxattr(fuse_req_t request, fuse_ino_t inode, const char *name, size_t size)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    struct value value = {.text = NULL};
    int error;

    /* Every ls and cp asks for names of security. and system., so those come first. */
    if (strcmp(name, MPIIO_ACL_POSIX) == 0) {
        reply_list(request, node, size);
        return;
    }
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
        /* Programs that get EOPNOTSUPP once, as ls does, do not ask again for each slice. A kernel
           that evaluates access control lists takes it for a failure when cp -a has it ask for a
           folder's default list, the one that new files get. A mount has none. */
        fuse_reply_err(request, strncmp(name, "user.", 5) == 0 ||
                                        (session->rights.evaluated &&
                                         strcmp(name, "system.posix_acl_default") == 0)
                                    ? ENODATA
                                    : EOPNOTSUPP);
        return;
    }
    error = find_value(session, request, node, name + strlen(PREFIX), size, &value);
    if (error == 0 && value.text == NULL)
        error = -ENODATA;
    if (error == 0)
        reply_value(request, value.text, strlen(value.text), size);
    else if (error < 0)
        fuse_reply_err(request, -error);
    free(value.made);
}

void fs_listxattr(fuse_req_t request, fuse_ino_t inode, size_t size)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);

    if (node.kind == FS_SLICE && node.shared)
        reply_value(request, shared_names, sizeof(shared_names), size);
    else if (node.kind == FS_SLICE)
        reply_value(request, slice_names, sizeof(slice_names), size);
    else if (node.kind == FS_ROOT)
        reply_value(request, root_names, sizeof(root_names), size);
    else
        reply_value(request, "", 0, size);
}

static bool is_value(const char *value, size_t size, const char *wanted)
{
    return size == strlen(wanted) && memcmp(value, wanted, size) == 0;
}

/*
 * Sets the access control list of a node, or removes it (size 0), which changes nothing. Programs
 * that preserve the rights of what they copy do that first. Where the node has no list, EOPNOTSUPP
 * has them set the mode instead, and an equal mode is accepted. 0 or a negative errno.
 */
static int change_list(struct fs_session *session, struct fs_node node, const char *value,
                       size_t size)
{
    char *list = size > 0 ? malloc(size) : NULL;
    ssize_t length = -ENOMEM;
    int error = -EPERM;

    if (size == 0 || list != NULL)
        length = fs_rights_list(&session->rights, node, possible(session, node), list, size);
    if (length == -EOPNOTSUPP || length == -ENODATA)
        error = -EOPNOTSUPP;
    else if (size > 0 && length == (ssize_t)size && memcmp(list, value, size) == 0)
        error = 0;
    free(list);
    return error;
}

/* Sets an attribute of the mount. Most cannot be set. Returns 0, a negative errno, or 1 if the
   request is answered later. */
static int do_setxattr(struct fs_session *session, fuse_req_t request, const char *name,
                       const char *value, size_t size)
{
    int error;

    if (strcmp(name, ATOMICITY) == 0) {
        if (!is_value(value, size, "0") && !is_value(value, size, "1"))
            return -EINVAL;
        error = fs_jobs_run(
            &session->jobs,
            &(struct fs_job){.run = fs_atomic_set, .request = request, .value = *value == '1'});
        return error != 0 ? error : 1;
    }
    return strcmp(name, LOG) == 0 ? set_log(session, request, value, size) : -EPERM;
}

void fs_setxattr(fuse_req_t request, fuse_ino_t inode, const char *name, const char *value,
                 size_t size, int flags)
{
    struct fs_session *session = fs_session_of(request);
    struct fs_node node = fs_tree_node(&session->tree, inode);
    int error = -EPERM;

    (void)flags;
    if (strcmp(name, MPIIO_ACL_POSIX) == 0)
        error = change_list(session, node, value, size);
    else if (inode == FUSE_ROOT_ID)
        error = do_setxattr(session, request, name, value, size);
    else if (node.shared && strcmp(name, SHARED_POSITION) == 0)
        error = session->stream != NULL ? -EOPNOTSUPP : fs_shared_seek(session, node, value, size);
    if (error <= 0)
        fuse_reply_err(request, -error);
}

void fs_removexattr(fuse_req_t request, fuse_ino_t inode, const char *name)
{
    struct fs_session *session = fs_session_of(request);
    int error = -EPERM;

    if (strcmp(name, MPIIO_ACL_POSIX) == 0)
        error = change_list(session, fs_tree_node(&session->tree, inode), NULL, 0);
    fuse_reply_err(request, -error);
}
