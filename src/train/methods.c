/* The table of methods; see methods.h. What the paper's is held against is docs/training.md. */
#include "train/methods.h"

#include "mawam/train.h"
#include "model/model.h"

#include <string.h>

/* clang-format off */
#define STEPS(flow) "flow.steps=" flow " inverse.steps=" flow " "

/* Segments are short, because the cost of everything grows with them. */
#define ANT    "parts=flow,inverse,rwm,advantage flow.scale=1 rwm.dynamics_features=0 rwm.concat_agents=on rwm.steps=4000 " \
               "mono.dynamics_features=0 independent.dynamics_features=0 " \
               "plan.action_offset=0.03 plan.temperature=0.5 plan.scorer=advantage "
#define CHASE  "parts=flow,inverse,rwm,advantage rwm.concat_agents=on plan.scorer=mixture plan.action_offset=0.25 plan.temperature=0.5 "
#define FIGHT  "parts=flow,inverse,rwm,value plan.value_after=1 plan.caution=0.1 "
#define BATTLE FIGHT "flow.context=9 flow.generated=3 plan.horizon=3 plan.return_to_go=on "

/* One step, and no pass without the return condition: Reactive is better and planning as good as with the
 * paper's three, at a sixth of the time. */
#define MAWAM  "parts=flow,inverse,rwm plan.sampling_steps=1 plan.guidance=1"

static const mw_method_row mawam[] = {
    {"spread",   "plan.action_offset=0.3 plan.temperature=0.3 plan.warm_start=on",                     STEPS("600") "rwm.steps=1000"},
    {"tag",      CHASE STEPS("2000") "rwm.steps=7000",                                                 STEPS("600") "rwm.steps=1000"},
    {"world",    CHASE STEPS("2000") "rwm.steps=8000",                                                 STEPS("600") "rwm.steps=1000"},
    {"2ant",     ANT STEPS("2000"),                                                                    STEPS("600") "rwm.steps=1000"},
    {"4ant",     ANT STEPS("1800"),                                                                    STEPS("600") "rwm.steps=1000"},
    {"3m",       BATTLE STEPS("1500") "rwm.steps=3000",                                                STEPS("600") "rwm.steps=1000 value.steps=1000"},
    {"8m",       BATTLE STEPS("700") "rwm.steps=1500",                                                 STEPS("300") "rwm.steps=500 value.steps=1000"},
    {"5m_vs_6m", BATTLE STEPS("1000") "rwm.steps=2500",                                                STEPS("400") "rwm.steps=600 value.steps=1000"},
    {"2s3z",     FIGHT STEPS("800") "flow.context=8 rwm.steps=2000",                                   STEPS("300") "rwm.steps=500 value.steps=1000"},
    {"other",    "",                                                                                   STEPS("600") "rwm.steps=1000"},
};

/* The context is the published one; of the future there is what planning needs, filled up to a multiple of 4. The inverse
 * dynamics see as many pairs as 64 segments hold, because they were trained on those. */
#define PAPER  "parts=flow,inverse,rwm flow.residual=off flow.forecast=0 flow.rate=0.0002 flow.warmup=0 flow.final=1 flow.clip=0 " \
               "inverse.layers=2 inverse.ids=off inverse.noise=0 inverse.rate=0.0002 inverse.warmup=0 inverse.final=1 inverse.clip=0 " \
               "rwm.variant=paper rwm.slots=4 rwm.reward_features=0 rwm.dynamics_features=0 rwm.shared=0 rwm.mean_agents=off " \
               "rwm.rate=0.0003 rwm.warmup=0 rwm.final=1 " \
               "mono.variant=paper mono.rate=0.0003 mono.warmup=0 mono.final=1 " \
               "independent.variant=paper independent.rate=0.0003 independent.warmup=0 independent.final=1 " \
               "q.batch=2048 q.warmup=0 q.final=1 direct.warmup=0 direct.final=1"
#define PAPER_PARTICLES "flow.context=1 flow.generated=11 inverse.batch=704 "
#define PAPER_ANT       "flow.context=19 flow.generated=9 inverse.batch=1728 "
#define PAPER_BATTLE    "flow.context=21 flow.generated=3 inverse.batch=1472 plan.horizon=3 plan.return_to_go=on "

static const mw_method_row paper[] = {
    {"spread",   PAPER_PARTICLES STEPS("10000") "rwm.steps=10000",                                     STEPS("600") "rwm.steps=1000"},
    {"tag",      PAPER_PARTICLES STEPS("10000") "rwm.steps=10000",                                     STEPS("600") "rwm.steps=1000"},
    {"world",    PAPER_PARTICLES STEPS("10000") "rwm.steps=10000",                                     STEPS("600") "rwm.steps=1000"},
    {"2ant",     PAPER_ANT STEPS("4000") "rwm.steps=8000",                                             STEPS("600") "rwm.steps=1000"},
    {"4ant",     PAPER_ANT STEPS("4000") "rwm.steps=8000",                                             STEPS("600") "rwm.steps=1000"},
    {"3m",       PAPER_BATTLE STEPS("4000") "rwm.steps=8000",                                          STEPS("600") "rwm.steps=1000"},
    {"8m",       PAPER_BATTLE STEPS("1500") "rwm.steps=4000",                                          STEPS("300") "rwm.steps=500"},
    {"5m_vs_6m", PAPER_BATTLE STEPS("2500") "rwm.steps=6000",                                          STEPS("400") "rwm.steps=600"},
    {"2s3z",     STEPS("2000") "flow.context=9 flow.generated=11 inverse.batch=1216 rwm.steps=6000",   STEPS("300") "rwm.steps=500"},
    {"other",    "inverse.batch=704",                                                                  STEPS("600") "rwm.steps=1000"},
};
/* clang-format on */

#define ROWS(table) table, sizeof table / sizeof *table

static const mw_method methods[] = {
    {"mawam", "this project's own method, which is the default", MAWAM, ROWS(mawam)},
    {"paper", "the paper's method at the size and budget of a CPU", PAPER, ROWS(paper)},
};

enum { METHODS = sizeof methods / sizeof *methods };

const mw_method *mw_method_at(int index) {
    return index >= 0 && index < METHODS ? &methods[index] : NULL;
}

const mw_method *mw_method_find(const char *name) {
    for (int i = 0; i < METHODS; i++)
        if (!strcmp(methods[i].name, name)) return &methods[i];
    return NULL;
}

const mw_method_row *mw_method_row_of(const mw_method *method, const char *task) {
    const mw_method_row *other = &method->rows[method->count - 1];
    for (const mw_method_row *r = method->rows; r < other; r++)
        if (!strcmp(r->task, task)) return r;
    return other;
}

const char *mw_method_name(int index) {
    const mw_method *method = mw_method_at(index);
    const mw_model_class *class;
    if (index < 0 || method) return method ? method->name : NULL;
    index -= METHODS;
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (class->policy && index-- == 0) return class->name;
    return NULL;
}
