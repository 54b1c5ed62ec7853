/* What the importers share: room for one episode, the completion of the description, and lists of names in
 * natural order. Internal to src/data. */
#ifndef MW_DATA_EXCHANGE_IMPORT_COMMON_H
#define MW_DATA_EXCHANGE_IMPORT_COMMON_H

#include "data/columns.h"
#include "data/exchange/import.h"

/* One episode in the making; arrays grow with the longest. */
typedef struct mw_import_room {
    long capacity; /* steps */
    float *obs;    /* [capacity + 1][n][o] */
    float *real, *rewards;
    int32_t *index;
    uint8_t *legal;
} mw_import_room;

mw_status mw_import_room_for(mw_import_room *room, const mw_dataset_spec *spec, long length, mw_error *error);
void mw_import_room_free(mw_import_room *room);
/* The episode in the room; last_known: obs[length] is the observation after the last step. */
mw_episode mw_import_room_episode(const mw_import_room *room, const mw_dataset_spec *spec, long length,
                                  bool last_known, uint8_t outcome);

/* Appends an episode, unless the request was stopped. */
mw_status mw_import_add(const mw_import_request *request, mw_dataset_writer *writer,
                        const mw_episode *episode, mw_error *error);

/* What a source says of itself if it was a dataset of ours; empty for others. */
typedef struct mw_import_origin {
    char task[64], rules[64], quality[64];
} mw_import_origin;

/* Of all values of episodes in their order, beginning with MW_HASH_START: exported files hold it, because
 * data that were changed are of nobody's rules. */
uint64_t mw_exchange_hash(uint64_t hash, const mw_dataset_spec *spec, const mw_episode *episode);

/* The dataset's description from the request and the sizes found; fails where they contradict the built-in
 * task. Where the origin is the same task its rules and quality stay, otherwise the rules are `foreign`; all
 * must outlive the spec. */
mw_status mw_import_spec(mw_dataset_spec *spec, const mw_import_request *request,
                         const mw_import_origin *origin, const char *foreign, int agents, int obs_size,
                         int act_size, bool discrete, int episode_limit, mw_error *error);

#define MW_IMPORT_AGENTS       1024      /* at most */
#define MW_IMPORT_WIDEST       (1 << 20) /* features, action values or actions of one agent */
#define MW_IMPORT_MOST_ACTIONS 4096      /* where only the largest action taken tells their number */

/* How long episodes may be: as the request says, which must not be less than the longest there is, or the
 * built-in task's limit or the longest, whichever is more. */
mw_status mw_import_limit(const mw_import_request *request, long longest, int *limit, mw_error *error);

/* A width found in a source; fails if it is 0 or more than MW_IMPORT_WIDEST. `what` names the array. */
mw_status mw_import_width(size_t found, const char *what, int *out, mw_error *error);

/* An integer that a source stores as any number; fails if it is not whole or outside [low, high]. */
mw_status mw_import_integer(double value, double low, double high, const char *file, long row, long *out,
                            mw_error *error);

/* Names sorted so that agent_2 comes before agent_10. */
typedef struct mw_names {
    char **name;
    int count;
} mw_names;

mw_status mw_names_add(mw_names *names, const char *name, mw_error *error);
void mw_names_sort(mw_names *names);
void mw_names_free(mw_names *names);

#endif
