/* The web server's library, linked in or, in a build with MAWAM_LOAD, loaded when the live view begins. */
#ifndef MW_LIVE_WEB_H
#define MW_LIVE_WEB_H

#include <mawam/error.h>

#ifdef MAWAM_LOAD
#include <loaded/microhttpd.h>
#else
#include <microhttpd.h>
#endif

/* MW_ERR_UNSUPPORTED where it is missing. */
mw_status mw_live_web(mw_error *error);

#endif
