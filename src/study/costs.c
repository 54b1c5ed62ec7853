/* The cost profile as the study's last stage; see costs.h. */
#include "study/costs.h"

#include "core/file.h"
#include "mawam/bench.h"
#include "plan/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mw_status add_bundle(mw_costs *c, const mw_setting *setting, mw_error *error) {
    char path[640], name[64], checksum[17];
    mw_map map;
    mw_bundle *bundle;
    mw_setting_name(setting, name, sizeof name);
    snprintf(path, sizeof path, "%.400s/bundles/%s.safetensors", c->options->folder, name);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_map_copy(&map, path, error));
    snprintf(checksum, sizeof checksum, "%016llx",
             (unsigned long long)mw_hash(MW_HASH_START, map.data, map.size));
    mw_map_close(&map);
    MW_TRY(mw_bundle_load(&bundle, path, error));
    c->bundles[c->count++] = bundle;
    json_object_set_new(c->inputs, name, json_string(checksum));
    return MW_OK;
}

mw_status mw_costs_start(mw_costs *c, const mw_study_options *options, bool *current, mw_error *error) {
    json_t *root;
    mw_error ignored;
    *c = (mw_costs){.options = options,
                    .inputs = json_pack("{s:i, s:i}", "timed", options->timed, "threads", options->threads)};
    *current = false;
    snprintf(c->path, sizeof c->path, "%.400s/cost.json", options->folder);
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (mw_study_middle(mw_setting_at(i))) MW_TRY(add_bundle(c, mw_setting_at(i), error));
    if (!mw_file_exists(c->path) || mw_json_read(&root, c->path, &ignored) != MW_OK) return MW_OK;
    *current = json_equal(json_object_get(json_object_get(root, "study"), "inputs"), c->inputs);
    json_decref(root);
    return MW_OK;
}

static void show(void *context, const char *task, int done, int total, double left) {
    const mw_costs *c = context;
    (void)left;
    if (c->progress) c->progress(c->context, (double)done / total, task);
}

mw_status mw_costs_run(mw_costs *c, mw_error *error) {
    mw_cost_options o;
    char *text;
    json_t *root;
    mw_cost_options_init(&o, sizeof o);
    o.threads = c->options->threads;
    if (c->options->timed) o.timed = c->options->timed;
    o.command = c->options->command;
    o.progress = show;
    o.context = c;
    o.stop = c->options->stop;
    MW_TRY(mw_cost_run(&text, c->bundles, c->count, &o, error));
    mw_status status = mw_json_parse(&root, text, strlen(text), "the cost", error);
    free(text);
    MW_TRY(status);
    json_object_set_new(root, "study",
                        json_pack("{s:s, s:O}", "revision", mw_revision(), "inputs", c->inputs));
    status = mw_json_write(root, c->path, error);
    json_decref(root);
    return status;
}

void mw_costs_free(mw_costs *c) {
    for (int i = 0; i < c->count; i++) mw_bundle_free((mw_bundle *)(uintptr_t)c->bundles[i]);
    json_decref(c->inputs);
    *c = (mw_costs){0};
}
