/* What settings were made with, compared; see protocol.h. */
#include "report/protocol.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *path;
} items[] = {{"budget", "provenance.budget"},
             {"transitions", "inputs.data.transitions"},
             {"seeds", "eval.seeds"},
             {"episodes", "eval.episodes"}};
enum { ITEMS = sizeof items / sizeof *items, VALUE = 24 };

/* "": the summary does not say. */
static void value_of(char out[VALUE], const mw_study_row *row, int item) {
    const json_t *found = mw_json_at(row->summary, items[item].path);
    out[0] = 0;
    if (json_is_string(found)) snprintf(out, VALUE, "%s", json_string_value(found));
    if (json_is_integer(found)) snprintf(out, VALUE, "%lld", (long long)json_integer_value(found));
    mw_text_clean(out);
}

static int count_of(const mw_study_table *t, const char *family, int item, const char *value) {
    char other[VALUE];
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        value_of(other, &t->rows[i], item);
        count += !strcmp(t->rows[i].family, family) && !strcmp(other, value);
    }
    return count;
}

/* The most frequent value in a family; of several the first. */
static void usual_of(char out[VALUE], const mw_study_table *t, const char *family, int item) {
    char value[VALUE];
    int most = 0;
    out[0] = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (strcmp(t->rows[i].family, family)) continue;
        value_of(value, &t->rows[i], item);
        const int count = *value ? count_of(t, family, item, value) : 0;
        if (count <= most) continue;
        most = count;
        memcpy(out, value, sizeof value);
    }
}

bool mw_protocol_difference(char out[MW_PROTOCOL_TEXT], const mw_study_table *t, int row) {
    int used = 0;
    out[0] = 0;
    for (int k = 0; k < ITEMS; k++) {
        char value[VALUE], usual[VALUE];
        value_of(value, &t->rows[row], k);
        usual_of(usual, t, t->rows[row].family, k);
        if (!*value || !strcmp(value, usual)) continue;
        const bool rare =
            count_of(t, t->rows[row].family, k, value) < count_of(t, t->rows[row].family, k, usual);
        used += snprintf(out + used, MW_PROTOCOL_TEXT - (size_t)used, "%s%s %s, %s %s", used ? "; " : "",
                         items[k].name, value, rare ? "most" : "others", usual);
    }
    return used > 0;
}
