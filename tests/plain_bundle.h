/* A shipped bundle as if it had never been packed, for tests that pack one. */
#ifndef MW_TESTS_PLAIN_BUNDLE_H
#define MW_TESTS_PLAIN_BUNDLE_H

#include "check.h"
#include "plan/bundle.h"

static inline void write_plain_bundle(const char *shipped, const char *path) {
    mw_error error;
    mw_bundle *bundle;
    CHECK_OK(mw_bundle_load(&bundle, shipped, &error), error);
    for (int i = 0; i < bundle->count; i++) json_object_del(bundle->parts[i].provenance.details, "packed");
    CHECK_OK(mw_bundle_save(bundle, path, true, &error), error);
    mw_bundle_free(bundle);
}

#endif
