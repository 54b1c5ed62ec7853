/* The paper's own figures, to stand next to ours: MPE in normalised score, battles in return, Ant in return
 * per agent. */
#ifndef MW_REPORT_PAPER_H
#define MW_REPORT_PAPER_H

typedef struct mw_paper_row {
    const char *task, *quality;
    double reactive, planning;         /* per-setting planning gain, three denoising steps */
    double random;                     /* equal-candidate control, M = 8 */
    double reactive_won, planning_won; /* battles: win rates; otherwise NaN */
} mw_paper_row;

const mw_paper_row *mw_paper_at(int index); /* NULL past the end */
const mw_paper_row *mw_paper_find(const char *task, const char *quality);

/* What it says over all settings or per family, from means that were not rounded. */
typedef struct mw_paper_gains {
    const char *family; /* NULL: all */
    int count;
    int improved;               /* settings where planning beats reactive; 0: not said */
    double relative;            /* mean relative gain over reactive */
    int random_improved;        /* settings where it beats the random choice; 0: not said */
    double random_relative;     /* NaN: not said */
    double spearman, pearson;   /* snippets at H=8, medians over settings; NaN: not said */
    double top2, pairs, regret; /* the same */
    double rollout_mse;         /* at H=8, median */
} mw_paper_gains;
const mw_paper_gains *mw_paper_gains_of(const char *family); /* NULL: all */

/* Same-state ranking at 64 anchors, M = 8. */
typedef struct mw_paper_state {
    const char *task, *quality;
    double top1, top2, spearman, pairs, regret, random_regret;
} mw_paper_state;
const mw_paper_state *mw_paper_state_find(const char *task, const char *quality); /* NULL: none */
mw_paper_state mw_paper_state_mean(void);

#endif
