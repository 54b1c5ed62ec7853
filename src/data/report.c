/* A dataset for people: what mawam/data.h promises of reports. */
#include "core/file.h"
#include "core/json.h"
#include "core/numbers.h"
#include "data/stats.h"

#include <stdlib.h>

#define BARS 16

struct mw_data_report {
    const mw_dataset *dataset;
    const mw_feature *features; /* [o], or NULL */
    mw_return_stats returns;
    double low, step; /* bar b counts returns in [low + b*step, low + (b+1)*step) */
    int count;        /* of bars: BARS, or one where all returns are the same */
    long bars[BARS];  /* the last bar includes its upper end */
    long shortest, longest;
    double bytes;    /* of all columns */
    long endings[3]; /* by limit, by the world, by victory */
    double legal;    /* discrete: mean number of legal actions */
    mw_data_stats stats;
    char remark[200]; /* of mw_dataset_remark */
};

/* ---- the numbers --------------------------------------------------------------------------------------- */

static void make_bars(mw_data_report *r, const double *returns, long count) {
    const double width = r->returns.maximum - r->returns.minimum;
    r->low = r->returns.minimum;
    r->count = width > 0 ? BARS : 1;
    r->step = width / r->count;
    for (long i = 0; i < count; i++) {
        const int bar = width > 0 ? (int)((returns[i] - r->low) / r->step) : 0;
        r->bars[bar < 0 ? 0 : bar >= r->count ? r->count - 1 : bar]++;
    }
}

static double mean_legal(const mw_dataset *d) {
    if (!d->legal) return 0;
    size_t cells = (size_t)d->steps * (size_t)d->spec.agents, sum = 0;
    for (size_t i = 0; i < cells * (size_t)d->spec.act_size; i++) sum += d->legal[i] != 0;
    return (double)sum / (double)cells;
}

static mw_status look(mw_data_report *r, const mw_dataset *d, mw_error *error) {
    mw_episode_set all;
    double *returns = malloc((size_t)d->episodes * sizeof *returns);
    if (!returns) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %ld returns", d->episodes);
    for (long e = 0; e < d->episodes; e++) {
        returns[e] = mw_dataset_return(d, e);
        r->shortest = d->lengths[e] < r->shortest ? (long)d->lengths[e] : r->shortest;
        r->longest = d->lengths[e] > r->longest ? (long)d->lengths[e] : r->longest;
        r->endings[d->outcomes[e] == MW_ENDED_BY_VICTORY ? 2 : d->outcomes[e] == MW_ENDED_BY_WORLD]++;
    }
    r->returns = mw_return_stats_of(returns, d->episodes);
    r->returns.won = (double)r->endings[2] / (double)d->episodes;
    make_bars(r, returns, d->episodes);
    free(returns);
    r->legal = mean_legal(d);
    r->bytes = mw_dataset_bytes(d);
    MW_TRY(mw_episode_set_all(&all, d, error));
    mw_status status = mw_data_stats_make(&r->stats, d, &all, 0.99, false, error);
    mw_episode_set_free(&all);
    mw_dataset_remark(d, r->remark, sizeof r->remark);
    MW_TRY(mw_dataset_intact(d, error));
    return status;
}

mw_status mw_data_report_create(mw_data_report **out, const mw_dataset *d, const mw_feature *features,
                                mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(out, "report");
    *out = NULL;
    MW_NEED_AS(d, "dataset");
    mw_data_report *r = *out = calloc(1, sizeof *r);
    if (!r) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a report");
    *r = (mw_data_report){.dataset = d, .features = features, .shortest = d->spec.episode_limit};
    const mw_status status = look(r, d, error);
    if (status == MW_OK) return MW_OK;
    mw_data_report_free(r);
    *out = NULL;
    return status;
}

void mw_data_report_free(mw_data_report *r) {
    if (r) mw_data_stats_free(&r->stats);
    free(r);
}

static bool dead(const mw_moments *m) {
    return m->low == m->high;
}

static const char *feature_name(const mw_feature *features, int f) {
    return features ? features[f].name : "-";
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Texts of files may hold anything; a terminal gets printable characters only. */
static void print_clean(const char *label, const char *text, FILE *out) {
    char line[401];
    if (!*text) return;
    snprintf(line, sizeof line, "%s", text);
    fprintf(out, "%-11s%s\n", label, mw_text_clean(line));
}

static void print_origin(const mw_dataset *d, FILE *out) {
    const mw_dataset_spec *s = &d->spec;
    char made_by[96] = "";
    if (*d->made_by) snprintf(made_by, sizeof made_by, "mawam %.80s", d->made_by);
    fprintf(out, "%-11s%s%s%s\n", "task", s->task, *s->quality ? "-" : "", s->quality);
    print_clean("rules", s->rules, out);
    print_clean("made by", made_by, out);
    print_clean("command", s->command, out);
    print_clean("note", s->note, out);
    fprintf(out, "%-11s%llu\n", "seed", (unsigned long long)s->seed);
    for (int i = 0; i < s->source_count; i++) {
        char line[300];
        snprintf(line, sizeof line, "%.200s  %016llx  %ld episodes", s->sources[i].name,
                 (unsigned long long)s->sources[i].checksum, s->sources[i].episodes);
        print_clean(i ? "" : "behaviours", line, out);
    }
}

static void print_returns(const mw_data_report *r, FILE *out) {
    const mw_return_stats *s = &r->returns;
    long most = 1;
    for (int b = 0; b < r->count; b++) most = r->bars[b] > most ? r->bars[b] : most;
    fprintf(out, "\nreturns: mean %.4g, std %.4g, quartiles %.4g %.4g %.4g\n", s->mean, s->std,
            s->quartile[0], s->quartile[1], s->quartile[2]);
    for (int b = 0; b < r->count; b++) {
        int length = (int)(44.0 * (double)r->bars[b] / (double)most + 0.5);
        if (length == 0 && r->bars[b] > 0) length = 1;
        fprintf(out, "%10.4g .. %-10.4g %7ld ", r->low + b * r->step, r->low + (b + 1) * r->step, r->bars[b]);
        for (int i = 0; i < length; i++) fputc('#', out);
        fputc('\n', out);
    }
}

static void print_features(const mw_data_report *r, FILE *out) {
    int gone = 0;
    fprintf(out, "\n%4s %-24s %10s %10s %10s %10s %12s\n", "obs", "feature", "low", "high", "mean", "std",
            "step change");
    for (int f = 0; f < r->stats.obs_size; f++) {
        const mw_moments *m = &r->stats.obs[f];
        fprintf(out, "%4d %-24.24s %10.4g %10.4g %10.4g %10.4g %12.4g%s\n", f, feature_name(r->features, f),
                (double)m->low, (double)m->high, m->mean, m->std, r->stats.delta[f].std,
                dead(m) ? "  dead" : "");
        gone += dead(m);
    }
    fprintf(out, "dead features: %d of %d\n", gone, r->stats.obs_size);
}

static void print_actions(const mw_data_report *r, const mw_dataset *d, FILE *out) {
    if (d->spec.discrete) {
        fprintf(out, "\naction  share   (on average %.2f of %d are legal)\n", r->legal, d->spec.act_size);
        for (int a = 0; a < d->spec.act_size; a++)
            fprintf(out, "%6d  %5.2f%%%s\n", a, 100 * r->stats.act[a].mean,
                    r->stats.act[a].mean == 0 ? "  never" : "");
        return;
    }
    fprintf(out, "\n%6s %10s %10s %10s %10s\n", "action", "low", "high", "mean", "std");
    for (int a = 0; a < d->spec.act_size; a++) {
        const mw_moments *m = &r->stats.act[a];
        fprintf(out, "%6d %10.4g %10.4g %10.4g %10.4g%s\n", a, (double)m->low, (double)m->high, m->mean,
                m->std, m->low < -1 || m->high > 1 ? "  outside [-1, 1]" : "");
    }
}

void mw_data_report_text(const mw_data_report *r, FILE *out) {
    const mw_dataset *d = r->dataset;
    print_origin(d, out);
    fprintf(out, "%-11s%d agents, %d features, %d %s\n", "sizes", d->spec.agents, d->spec.obs_size,
            d->spec.act_size, d->spec.discrete ? "discrete actions" : "real action values");
    fprintf(out, "%-11s%ld of %ld to %ld steps (limit %d), %ld steps, %.1f MB\n", "episodes", d->episodes,
            r->shortest, r->longest, d->spec.episode_limit, d->steps, r->bytes / 1e6);
    fprintf(out, "%-11s%ld by the limit, %ld by the world, %ld won; last observations %s\n", "endings",
            r->endings[0], r->endings[1], r->endings[2], d->last_obs ? "recorded" : "not recorded");
    fprintf(out, "%-11smean %.4g, std %.4g, %.4g to %.4g\n", "rewards", r->stats.reward.mean,
            r->stats.reward.std, (double)r->stats.reward.low, (double)r->stats.reward.high);
    print_returns(r, out);
    print_features(r, out);
    print_actions(r, d, out);
    if (*r->remark) fprintf(out, "%s\n", r->remark);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static json_t *moments_json(const mw_moments *m) {
    return json_pack("{s:f, s:f, s:f, s:f}", "low", (double)m->low, "high", (double)m->high, "mean", m->mean,
                     "std", m->std);
}

mw_status mw_data_report_json(const mw_data_report *r, FILE *out, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(r, "report");
    MW_NEED(out);
    const mw_dataset *d = r->dataset;
    json_t *bars = json_array(), *ranges = json_array(), *actions = json_array();
    for (int b = 0; b < r->count; b++) json_array_append_new(bars, json_integer(r->bars[b]));
    for (int f = 0; f < r->stats.obs_size; f++) {
        json_t *entry = moments_json(&r->stats.obs[f]);
        json_object_set_new(entry, "name", json_string(feature_name(r->features, f)));
        json_object_set_new(entry, "step_change", json_real(r->stats.delta[f].std));
        json_object_set_new(entry, "dead", json_boolean(dead(&r->stats.obs[f])));
        json_array_append_new(ranges, entry);
    }
    for (int a = 0; a < r->stats.act_size; a++)
        json_array_append_new(actions, moments_json(&r->stats.act[a]));
    const mw_return_stats *s = &r->returns;
    json_t *root = mw_dataset_spec_json(&d->spec),
           *found = json_pack(
               "{s:s, s:I, s:I, s:I, s:I, s:f, s:b, s:{s:I, s:I, s:I}, s:f,"
               " s:{s:f, s:f, s:f, s:[f,f,f], s:f, s:f, s:{s:f, s:f, s:o}}, s:o, s:o, s:o, s:o}",
               "mawam", d->made_by, "episodes", (json_int_t)d->episodes, "steps", (json_int_t)d->steps,
               "shortest", (json_int_t)r->shortest, "longest", (json_int_t)r->longest, "bytes", r->bytes,
               "last_obs", d->last_obs != NULL, "endings", "limit", (json_int_t)r->endings[0], "world",
               (json_int_t)r->endings[1], "won", (json_int_t)r->endings[2], "legal_actions", r->legal,
               "returns", "mean", s->mean, "std", s->std, "minimum", s->minimum, "quartiles", s->quartile[0],
               s->quartile[1], s->quartile[2], "maximum", s->maximum, "won", s->won, "histogram", "low",
               r->low, "step", r->step, "counts", bars, "reward", moments_json(&r->stats.reward), "features",
               ranges, "actions", actions, "remark", *r->remark ? json_string(r->remark) : json_null());
    if (!root || !found || json_object_update(root, found) != 0) {
        json_decref(root);
        root = NULL;
    }
    json_decref(found);
    mw_status status = mw_json_print(root, out, 10, error);
    json_decref(root);
    return status;
}

/* ---- picture ------------------------------------------------------------------------------------------- */

mw_status mw_data_report_svg(const mw_data_report *r, const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(r, "report");
    MW_NEED(path);
    const mw_dataset *d = r->dataset;
    enum { WIDTH = 640, HEIGHT = 320, LEFT = 56, RIGHT = 16, TOP = 40, BOTTOM = 44 };
    const double plot = WIDTH - LEFT - RIGHT, tall = HEIGHT - TOP - BOTTOM, bar = plot / r->count;
    mw_text text;
    long most = 1;
    MW_TRY(mw_text_open(&text, error));
    FILE *out = text.stream;
    for (int b = 0; b < r->count; b++) most = r->bars[b] > most ? r->bars[b] : most;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"15\">%s%s%s: returns of %ld episodes, mean %.4g, std "
            "%.4g</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, d->spec.task, *d->spec.quality ? "-" : "", d->spec.quality,
            d->episodes, r->returns.mean, r->returns.std);
    for (int b = 0; b < r->count; b++) {
        double high = tall * (double)r->bars[b] / (double)most;
        fprintf(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#4878a8\"><title>%.4g to "
                "%.4g: "
                "%ld</title></rect>\n",
                LEFT + b * bar + 1, TOP + tall - high, bar - 2, high, r->low + b * r->step,
                r->low + (b + 1) * r->step, r->bars[b]);
        if (b % 4 == 0)
            fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", LEFT + b * bar,
                    HEIGHT - BOTTOM + 18, r->low + b * r->step);
    }
    const double range = r->step * r->count,
                 mean = LEFT + plot * (range > 0 ? (r->returns.mean - r->low) / range : 0.5);
    fprintf(
        out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.4g</text>\n"
        "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\" stroke=\"#c03030\" stroke-dasharray=\"4 3\"/>\n"
        "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"black\"/>\n"
        "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%ld</text>\n"
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">return of an episode</text>\n</svg>\n",
        WIDTH - RIGHT, HEIGHT - BOTTOM + 18, r->low + range, mean, mean, TOP, TOP + tall, LEFT, WIDTH - RIGHT,
        TOP + tall, TOP + tall, LEFT - 6, TOP + 10, most, LEFT + plot / 2, HEIGHT - 8);
    MW_TRY(mw_text_close(&text, error));
    const mw_status status = mw_file_write(path, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}
