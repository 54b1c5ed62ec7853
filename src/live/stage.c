/* What the page shows and what its visitors may do; see stage.h. The commands are in commands.c. */
#include "live/stage.h"

#include "live/frame.h"

#include <math.h>
#include <string.h>

mw_status mw_stage_open(mw_stage *stage, const char *folder, const char *bundle, uint64_t seed, int threads,
                        mw_error *error) {
    mw_bundle *loaded;
    *stage = (mw_stage){.threads = threads, .rate = 10};
    snprintf(stage->folder, sizeof stage->folder, "%s", folder);
    snprintf(stage->bundle, sizeof stage->bundle, "%s", bundle);
    MW_TRY(mw_stage_bundle(&loaded, stage, stage->bundle, error));
    return mw_duel_open(&stage->duel, loaded, seed, threads, error);
}

void mw_stage_close(mw_stage *stage) {
    mw_duel_close(stage->duel);
    stage->duel = NULL;
}

/* ---- playing ---- */

double mw_stage_pause(const mw_stage *stage) {
    return mw_duel_over(stage->duel) ? fmax(1 / stage->rate, 1) : 1 / stage->rate;
}

void mw_stage_tick(mw_stage *stage) {
    mw_error error = {0};
    mw_duel *duel = stage->duel;
    const mw_status status = mw_duel_over(duel) ? mw_duel_begin(duel, duel->seed, duel->episode + 1, &error)
                                                : mw_duel_advance(duel, &error);
    mw_tally_note(&stage->tally, duel);
    if (status == MW_OK) return;
    stage->playing = false;
    snprintf(stage->notice, sizeof stage->notice, "%.200s", error.message);
}

/* ---- texts ---- */

mw_status mw_stage_frame(mw_stage *stage, FILE *out, mw_error *error) {
    (void)error;
    fprintf(out,
            "{\"playing\":%s,\"rate\":%.4g,\"version\":%u,\"notice\":", stage->playing ? "true" : "false",
            stage->rate, stage->version);
    mw_frame_text(out, stage->notice);
    fputs(",\"tally\":", out);
    mw_tally_print(&stage->tally, out);
    fputc(',', out);
    mw_frame_print(stage->duel, out);
    fputc('}', out);
    return MW_OK;
}

mw_status mw_stage_about(mw_stage *stage, FILE *out, mw_error *error) {
    char **names;
    const int count = mw_stage_bundles(stage, &names);
    (void)error;
    fprintf(out, "{\"version\":%u,\"bundle\":", stage->version);
    mw_frame_text(out, stage->bundle);
    fputs(",\"bundles\":[", out);
    for (int i = 0; i < count; i++) {
        if (i) fputc(',', out);
        mw_frame_text(out, names[i]);
    }
    mw_stage_bundles_free(names, count);
    fputs("],", out);
    mw_frame_about(stage->duel, out);
    fputc('}', out);
    return MW_OK;
}

mw_status mw_stage_history(mw_stage *stage, FILE *out, mw_error *error) {
    (void)error;
    mw_frame_history(stage->duel, out);
    return MW_OK;
}

mw_status mw_stage_recording(mw_stage *stage, FILE *out, mw_error *error) {
    return mw_frame_replay(stage->duel, out, error);
}
