/* Options as words; see command.h. */
#include "study/command.h"

#include "core/names.h"
#include "model/model.h"
#include "study/scope.h"

#include <string.h>

void mw_command_word(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

static void put_text(FILE *out, const char *option, const char *text) {
    if (!text) return;
    fprintf(out, " --%s ", option);
    mw_command_word(out, text);
}

static void put_count(FILE *out, const char *option, long value, long usual) {
    if (value != usual) fprintf(out, " --%s %ld", option, value);
}

static void put_seed(FILE *out, const char *option, uint64_t value, uint64_t usual) {
    if (value != usual) fprintf(out, " --%s %llu", option, (unsigned long long)value);
}

static void put_set(FILE *out, const char *option, mw_name_at *at, unsigned set) {
    char names[MW_NAMES_TEXT];
    if (!set) return;
    mw_names_text(names, at, set, ",");
    put_text(out, option, names);
}

static const char *arm_name(int index) {
    return mw_arm_name(index);
}

static const char *part_name(int index) {
    return mw_study_part_name(index);
}

/* "40,mpe=2": the number for all, then where families differ. */
static void put_episodes(FILE *out, const mw_study_options *o) {
    const mw_family *family;
    const char *before = " --episodes ";
    if (o->episodes) {
        fprintf(out, "%s%d", before, o->episodes);
        before = ",";
    }
    for (int f = 0; f < o->family_count && o->family_episodes && (family = mw_family_at(f)); f++) {
        if (!o->family_episodes[f]) continue;
        fprintf(out, "%s%s=%d", before, family->name, o->family_episodes[f]);
        before = ",";
    }
}

void mw_command_options(FILE *out, const mw_study_options *o) {
    mw_study_options usual;
    mw_study_options_init(&usual, sizeof usual);
    put_text(out, "dir", o->folder);
    put_text(out, "method", o->method);
    if (o->budget == MW_BUDGET_QUICK) put_text(out, "budget", "quick");
    for (int i = 0; i < o->assignment_count; i++) put_text(out, "set", o->assignments[i]);
    put_set(out, "parts", part_name, o->parts);
    put_set(out, "baselines", mw_model_class_name, o->baselines);
    put_seed(out, "seed", o->seed, usual.seed);
    put_count(out, "training-seeds", o->training_seeds, usual.training_seeds);
    put_text(out, "behaviors", o->behaviors);
    put_count(out, "transitions", o->transitions, usual.transitions);
    put_set(out, "arms", arm_name, o->arms);
    put_seed(out, "first-seed", o->first_seed, usual.first_seed);
    put_count(out, "seeds", o->seeds, usual.seeds);
    put_episodes(out, o);
    put_count(out, "timed", o->timed, usual.timed);
    put_count(out, "anchors", o->anchors, usual.anchors);
    put_count(out, "snippets", o->snippets, usual.snippets);
    if (o->play_again) fputs(" --play-again", out);
}

void mw_command_settings(FILE *out, const mw_study_options *o) {
    char name[64];
    for (int i = 0; i < o->count; i++) {
        mw_setting_name(o->settings[i], name, sizeof name);
        fprintf(out, " %s", name);
    }
}

static mw_status check_text(const char *option, const char *text, mw_error *error) {
    if (!text || !strpbrk(text, "\n\r\t")) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "'%s' has several lines or a tab, which no plan can say", option);
}

mw_status mw_command_check(const mw_study_options *o, mw_error *error) {
    if (o->drop_data)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "'drop_data' is not for a plan: several of its tasks may need the data");
    MW_TRY(check_text("folder", o->folder, error));
    MW_TRY(check_text("behaviors", o->behaviors, error));
    for (int i = 0; i < o->assignment_count; i++) MW_TRY(check_text("assignments", o->assignments[i], error));
    return MW_OK;
}
