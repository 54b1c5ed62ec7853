/* Who was ahead; see tally.h. */
#include "live/tally.h"

#include "live/frame.h"

static int kept(const mw_tally *tally) {
    return tally->count < MW_TALLY_RESULTS ? tally->count : MW_TALLY_RESULTS;
}

void mw_tally_clear(mw_tally *tally) {
    tally->count = 0;
}

void mw_tally_note(mw_tally *tally, const mw_duel *duel) {
    const mw_duel_moment *now = mw_duel_now(duel);
    if (!mw_duel_over(duel) || now->handled) return;
    for (int i = 0; i < kept(tally); i++)
        if (tally->results[i].seed == duel->seed && tally->results[i].episode == duel->episode) return;
    const int place = tally->count++ % MW_TALLY_RESULTS;
    tally->results[place].seed = duel->seed;
    tally->results[place].episode = duel->episode;
    for (int s = 0; s < MW_DUEL_SIDES; s++) tally->results[place].total[s] = now->side[s].total;
}

void mw_tally_print(const mw_tally *tally, FILE *out) {
    const int count = kept(tally), shown = count < MW_TALLY_SHOWN ? count : MW_TALLY_SHOWN;
    int ahead = 0, level = 0;
    double sum[MW_DUEL_SIDES] = {0};
    for (int i = 0; i < count; i++) {
        const double *total = tally->results[i].total;
        ahead += total[MW_DUEL_PLANNED] > total[MW_DUEL_REACTIVE];
        level += total[MW_DUEL_PLANNED] == total[MW_DUEL_REACTIVE];
        for (int s = 0; s < MW_DUEL_SIDES; s++) sum[s] += total[s];
    }
    fprintf(out, "{\"episodes\":%d,\"ahead\":%d,\"level\":%d,\"planned\":", count, ahead, level);
    mw_frame_number(out, count ? sum[MW_DUEL_PLANNED] / count : 0, 7);
    fputs(",\"alone\":", out);
    mw_frame_number(out, count ? sum[MW_DUEL_REACTIVE] / count : 0, 7);
    fputs(",\"latest\":[", out);
    for (int i = tally->count - shown; i < tally->count; i++) {
        const double *total = tally->results[i % MW_TALLY_RESULTS].total;
        fputs(i > tally->count - shown ? ",[" : "[", out);
        for (int s = 0; s < MW_DUEL_SIDES; s++) {
            if (s) fputc(',', out);
            mw_frame_number(out, total[s], 7);
        }
        fputc(']', out);
    }
    fputs("]}", out);
}
