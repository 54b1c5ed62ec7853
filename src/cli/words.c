/* Evaluations in words for somebody who has not read about arms: who plays, what was found, how sure that is,
 * and why planning did not gain where it did not. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *mw_cli_arm_words(int arm) {
    static const char *const words[MW_ARM_STANDARD] = {[MW_ARM_REACTIVE] = "the policy alone",
                                                       [MW_ARM_RANDOM] = "a candidate at random",
                                                       [MW_ARM_PLAN] = "planning",
                                                       [MW_ARM_PAPER] = "planning among candidates as drawn",
                                                       [MW_ARM_ORACLE] = "if the simulator itself judged"};
    return arm >= 0 && arm < MW_ARM_STANDARD ? words[arm] : mw_arm_name(arm);
}

/* "+12.3% (95%: +8.0 to +16.1%)" of the policy alone, whatever the unit of the report; few episodes have no
 * interval, nor has a share of what may be zero. */
static const char *gain_text(char out[96], const mw_eval_report *r) {
    if (!isfinite(r->relative_gain)) return strcpy(out, "by what cannot be told in percent");
    const int used = snprintf(out, 96, "%+.1f%%", 100 * r->relative_gain);
    if (isfinite(r->relative_low))
        snprintf(out + used, 96 - (size_t)used, " (95%% interval %+.1f to %+.1f%%)", 100 * r->relative_low,
                 100 * r->relative_high);
    return out;
}

/* Without a gain: was there anything to choose among the candidates? */
static const char *reason(char out[256], const mw_eval_report *oracle) {
    char gain[96];
    if (!oracle->played) return strcpy(out, "");
    if (oracle->gain.low > 0)
        snprintf(out, 256,
                 " There were better candidates: with the simulator as judge planning gains %s. The world "
                 "model did not recognise them.",
                 gain_text(gain, oracle));
    else
        snprintf(out, 256,
                 " Nor does the simulator as judge gain for certain, %s: as far as it looks, the candidates "
                 "hardly differ in worth.",
                 gain_text(gain, oracle));
    return out;
}

/* Where the simulator was not asked: the gain that four of five such samples would show, 2.8 standard errors;
 * the interval reaches 1.96 to each side. */
static const char *visible(char out[256], const mw_eval_report *plan) {
    const double share = (plan->gain.high - plan->gain.low) / 2 * 2.8 / 1.96 / plan->gain.mean;
    if (isfinite(share) && isfinite(plan->relative_gain))
        snprintf(out, 256, " Episodes differ so much here that a gain has to be about %.0f%% to show.",
                 100 * fabs(share * plan->relative_gain));
    else
        out[0] = 0;
    return out;
}

void mw_cli_found(char *out, size_t size, const char *name, const mw_eval_result *result) {
    const mw_eval_report *plan = mw_eval_arm(result, MW_ARM_PLAN),
                         *oracle = mw_eval_arm(result, MW_ARM_ORACLE);
    const mw_eval_summary about = mw_eval_describe(result);
    const int episodes = about.seeds * about.episodes;
    char gain[96], why[256];
    out[0] = 0;
    if (!plan->played || !isfinite(plan->gain.mean)) return;
    gain_text(gain, plan);
    if (plan->gain.low > 0)
        snprintf(out, size, "%s: planning gains, %s, in %d episodes.", name, gain, episodes);
    else if (plan->gain.high < 0)
        snprintf(out, size, "%s: planning does harm, %s, in %d episodes.%s", name, gain, episodes,
                 reason(why, oracle));
    else if (episodes < MW_INTERVAL_LEAST)
        snprintf(out, size,
                 "%s: %d episode%s cannot tell planning from the policy alone, %s; an interval takes %d.",
                 name, episodes, episodes == 1 ? "" : "s", gain, MW_INTERVAL_LEAST);
    else
        snprintf(out, size, "%s: %d episodes cannot tell planning from the policy alone, %s.%s", name,
                 episodes, gain, oracle->played ? reason(why, oracle) : visible(why, plan));
}
