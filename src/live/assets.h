/* The page's own files, which are part of the program: the build turns them into arrays. */
#ifndef MW_LIVE_ASSETS_H
#define MW_LIVE_ASSETS_H

#include <stddef.h>

typedef struct mw_live_asset {
    const char *path, *type;
    const unsigned char *data;
    size_t size;
} mw_live_asset;

extern const mw_live_asset mw_live_assets[]; /* ends with a NULL path */
extern const mw_live_asset mw_web_assets[];  /* of the page that plans; empty where it was not built */

#endif
