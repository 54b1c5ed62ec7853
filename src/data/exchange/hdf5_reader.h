/* Reading arrays of numbers from an HDF5 file that nobody vouches for: only what lies in the file itself,
 * only as much as its size allows, and every failure with the object's place in the file. */
#ifndef MW_DATA_EXCHANGE_HDF5_READER_H
#define MW_DATA_EXCHANGE_HDF5_READER_H

#include "data/exchange/hdf5_common.h"
#include "data/exchange/import_common.h"

#ifdef MAWAM_HAVE_HDF5

typedef struct mw_hdf5_reader {
    hid_t file;
    char *path;
    size_t limit;    /* bytes that an array may have in single precision */
    double *numbers; /* the array loaded last */
    size_t capacity;
    int rank; /* of the array looked at last, and its shape */
    hsize_t dims[4];
    bool integers;
    bool failed; /* a question could not be answered: what seemed not to be there may be */
} mw_hdf5_reader;

/* The library's answer, yes or no; neither is remembered. */
static inline bool mw_hdf5_yes(mw_hdf5_reader *in, htri_t answer) {
    in->failed |= answer < 0;
    return answer > 0;
}

/* "file: episode_3/actions/agent_0": where in the file something is. The member may be NULL. */
const char *mw_hdf5_place(const mw_hdf5_reader *in, char *buffer, size_t size, const char *episode,
                          const char *name, const char *member);
mw_status mw_hdf5_expect(const mw_hdf5_reader *in, const char *where, size_t bytes, mw_error *error);

/* The shape only, and the numbers too. */
mw_status mw_hdf5_look(mw_hdf5_reader *in, const char *episode, const char *name, const char *member,
                       mw_error *error);
mw_status mw_hdf5_load(mw_hdf5_reader *in, const char *episode, const char *name, const char *member,
                       mw_error *error);

/* The sorted members of a group whose names begin with the prefix. */
mw_status mw_hdf5_members(mw_hdf5_reader *in, const char *group, const char *prefix, mw_names *names,
                          mw_error *error);
/* A short text among the file's own attributes; out stays where there is none. */
void mw_hdf5_text(mw_hdf5_reader *in, const char *name, char out[64]);

#endif
#endif
