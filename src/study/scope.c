/* The table of what the study does with which setting; see scope.h. */
#include "study/scope.h"

#include "core/names.h"
#include "env/env.h"
#include "report/paper.h"

#include <stdio.h>
#include <string.h>

/* Where the protocol goes beyond what every setting gets. The paper does not name the ten settings of its
 * comparison of selectors: here one of each task, and a second one where planning has the most to gain. */
enum { SELECTORS = 1u << MW_STUDY_SELECTORS, SWEEPS = 1u << MW_STUDY_SWEEPS };
static const struct {
    const char *task, *quality;
    bool middle;
    unsigned stages; /* that not every setting has */
} rows[] = {
    {"spread", "medium", true, SELECTORS | SWEEPS},
    {"tag", "medium", true, SELECTORS},
    {"tag", "expert", false, SELECTORS},
    {"world", "medium", true, SELECTORS},
    {"3m", "medium", true, SELECTORS | SWEEPS},
    {"8m", "medium", true, SELECTORS},
    {"5m_vs_6m", "medium", true, SELECTORS},
    {"2s3z", "medium", true, SELECTORS},
    {"2ant", "medium", true, SELECTORS | SWEEPS},
    {"4ant", "medium", true, SELECTORS},
};

static int row_of(const mw_setting *setting) {
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        if (!strcmp(rows[i].task, setting->task) && !strcmp(rows[i].quality, setting->quality)) return i;
    return -1;
}

bool mw_study_middle(const mw_setting *setting) {
    const int row = row_of(setting);
    return row >= 0 && rows[row].middle;
}

/* Analyses are stages of the main job; the table above says where those are run that not every setting has.
 */
static const struct {
    const char *name;
    unsigned stages; /* that it adds to a job; 0: it adds jobs, or comes after all of them */
    bool apart;      /* needs no bundle of the main job */
} parts[MW_STUDY_PARTS] = {
    [MW_STUDY_PART_MAIN] = {"main", 0, false},
    [MW_STUDY_PART_PAPER] = {"paper", 0, true},
    [MW_STUDY_PART_LONGER] = {"longer", 0, true},
    [MW_STUDY_PART_SEEDS] = {"seeds", 0, true},
    [MW_STUDY_PART_ROUTING] = {"routing", 1u << MW_STUDY_ROUTING, false},
    [MW_STUDY_PART_SELECTORS] = {"selectors", SELECTORS, false},
    [MW_STUDY_PART_BASELINES] = {"baselines", 1u << MW_STUDY_BASELINES, true},
    [MW_STUDY_PART_SWEEPS] = {"sweeps", SWEEPS, false},
    [MW_STUDY_PART_COST] = {"cost", 0, false},
};

const char *mw_study_part_name(int part) {
    return part >= 0 && part < MW_STUDY_PARTS ? parts[part].name : NULL;
}

bool mw_study_wants(const mw_study_options *options, mw_study_part part) {
    return !options->parts || options->parts & 1u << part;
}

int mw_study_episodes(const mw_study_options *options, const char *family) {
    const mw_family *row = mw_family_find(family);
    const int at = (int)(row - mw_family_at(0)), *each = options->family_episodes;
    const int own = each && at < options->family_count ? each[at] : 0;
    return own ? own : options->episodes ? options->episodes : row->study_episodes;
}

/* ---- baselines ---- */

static unsigned all_baselines(void) {
    const mw_model_class *class;
    unsigned baselines = 0;
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (class->policy) baselines |= 1u << i;
    return baselines;
}

mw_status mw_study_baselines_check(const mw_study_options *o, mw_error *error) {
    const unsigned baselines = all_baselines(), strange = o->baselines & ~baselines;
    char known[MW_NAMES_TEXT];
    if (o->baselines && !mw_study_wants(o, MW_STUDY_PART_BASELINES))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "'baselines' are those of the part baselines, and it is not among 'parts'");
    if (!strange) return MW_OK;
    mw_names_text(known, mw_model_class_name, baselines, ", ");
    const char *name = mw_model_class_name(__builtin_ctz(strange));
    return mw_fail(error, MW_ERR_ARGUMENT, "'baselines' are models that play by themselves, %s; not %s",
                   known, name ? name : "one past the table");
}

/* A world that cannot be made says so when its setting runs. */
static bool discrete(const char *task) {
    mw_env *env;
    mw_error ignored;
    if (mw_env_create(&env, task, NULL, &ignored) != MW_OK) return false;
    const bool found = mw_env_describe(env)->discrete;
    mw_env_free(env);
    return found;
}

/* Those asked for that suit the task's actions. */
static unsigned baselines_of(const mw_study_options *o, const char *task) {
    const mw_model_class *class;
    const bool indices = discrete(task);
    unsigned baselines = o->baselines ? o->baselines : all_baselines();
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (indices ? class->real_only : class->discrete_only) baselines &= ~(1u << i);
    return baselines;
}

/* ---- steps ---- */

int mw_study_step_index(mw_step step) {
    return step.baseline < 0 ? (int)step.stage : (int)MW_STUDY_STAGES + step.baseline;
}

int mw_study_steps(mw_step steps[MW_STUDY_STEPS], const mw_study_job *job) {
    int n = 0;
    for (int k = 0; k < MW_STUDY_COST; k++) {
        const mw_study_stage stage = (mw_study_stage)k;
        if (!(job->stages & 1u << k)) continue;
        if (stage != MW_STUDY_BASELINES) steps[n++] = (mw_step){stage, -1};
        for (int m = 0; stage == MW_STUDY_BASELINES && m < MW_KINDS; m++)
            if (job->baselines & 1u << m) steps[n++] = (mw_step){stage, m};
    }
    return n;
}

/* ---- jobs ---- */

enum {
    MAIN_STAGES = 1u << MW_STUDY_DATA | 1u << MW_STUDY_TRAIN | 1u << MW_STUDY_EVAL | 1u << MW_STUDY_DIAGNOSE
};

/* The paper names 100,000 steps, and ranks the candidates of one state on five settings. */
static const struct {
    mw_study_part part;
    const char *method, *assignment;
    mw_branch base;
    unsigned stages; /* of those that the setting has */
    bool one_state;  /* only where the paper has it */
} branches[MW_BRANCHES] = {
    [MW_BRANCH_PAPER] = {MW_STUDY_PART_PAPER, "paper", NULL, MW_BRANCHES,
                         MAIN_STAGES | 1u << MW_STUDY_ROUTING, false},
    [MW_BRANCH_LONGER] = {MW_STUDY_PART_LONGER, "paper", "rwm.steps=100000", MW_BRANCH_PAPER, MAIN_STAGES,
                          true},
};

static bool asked(const mw_study_options *o, const mw_setting *setting) {
    for (int k = 0; k < o->count; k++)
        if (o->settings[k] == setting) return true;
    return o->count == 0;
}

static void add(mw_study_job *job, int place, const char *folder, const char *method, uint64_t seed,
                unsigned stages) {
    char name[64];
    *job = (mw_study_job){.place = place, .method = method, .seed = seed, .stages = stages};
    mw_setting_name(mw_setting_at(place), name, sizeof name);
    snprintf(job->folder, sizeof job->folder, "%s", folder);
    snprintf(job->label, sizeof job->label, "%s%s%s", folder, *folder ? "/" : "", name);
}

static unsigned stages_of(const mw_study_options *o, const mw_setting *setting) {
    const int row = row_of(setting);
    const unsigned without = (SELECTORS | SWEEPS) & ~(row >= 0 ? rows[row].stages : 0);
    unsigned stages = 1u << MW_STUDY_DATA;
    for (int part = 0; part < MW_STUDY_PARTS; part++)
        if (mw_study_wants(o, (mw_study_part)part))
            stages |= parts[part].stages | (parts[part].apart ? 0 : MAIN_STAGES);
    return stages & ~without;
}

/* Skip a branch whose method is the study's own, and with little budget one that says how long to train. */
static int add_branch(mw_study_job *jobs, mw_branch branch, const mw_study_options *o) {
    const char *assignment = branches[branch].assignment;
    int n = 0;
    if (!mw_study_wants(o, branches[branch].part) || (assignment && o->budget == MW_BUDGET_QUICK) ||
        (!assignment && o->method && !strcmp(o->method, branches[branch].method)))
        return 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_setting *setting = mw_setting_at(i);
        char name[64];
        mw_setting_name(setting, name, sizeof name);
        if (!asked(o, setting) || (branches[branch].one_state && !mw_paper_state_find(name))) continue;
        add(&jobs[n], i, mw_branch_folders[branch], branches[branch].method, o->seed,
            (MAIN_STAGES | stages_of(o, setting)) & branches[branch].stages);
        jobs[n].assignment = assignment;
        if (branches[branch].base < MW_BRANCHES) jobs[n].base = mw_branch_folders[branches[branch].base];
        n++;
    }
    return n;
}

/* Branches and further seeds are jobs of their own, which need nothing of the main one but its data. */
static bool wants_main(const mw_study_options *o) {
    for (int part = 0; part < MW_STUDY_PARTS; part++)
        if (mw_study_wants(o, (mw_study_part)part) && (!parts[part].apart || parts[part].stages)) return true;
    return false;
}

/* False: none of the baselines suits the task, and nothing else was asked for. */
static bool add_main(mw_study_job *job, int place, const mw_study_options *o) {
    const mw_setting *setting = mw_setting_at(place);
    add(job, place, "", o->method, o->seed, stages_of(o, setting));
    if (!(job->stages & 1u << MW_STUDY_BASELINES)) return true;
    job->baselines = baselines_of(o, setting->task);
    if (!job->baselines) job->stages &= ~(1u << MW_STUDY_BASELINES);
    return job->stages != 1u << MW_STUDY_DATA;
}

int mw_study_jobs(mw_study_job jobs[MW_STUDY_JOBS], const mw_study_options *o) {
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS && wants_main(o); i++)
        n += asked(o, mw_setting_at(i)) && add_main(&jobs[n], i, o);
    for (int k = 0; k < MW_BRANCHES; k++) n += add_branch(&jobs[n], (mw_branch)k, o);
    for (int k = 1; k < o->training_seeds && mw_study_wants(o, MW_STUDY_PART_SEEDS); k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            char folder[24];
            snprintf(folder, sizeof folder, "seeds/%d", k);
            if (asked(o, mw_setting_at(i)) && mw_study_middle(mw_setting_at(i)))
                add(&jobs[n++], i, folder, o->method, o->seed + (uint64_t)k,
                    1u << MW_STUDY_DATA | 1u << MW_STUDY_TRAIN | 1u << MW_STUDY_EVAL);
        }
    return n;
}
