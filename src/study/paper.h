/* The paper's own figures, to stand next to ours: MPE in normalised score, battles in return, Ant in return
 * per agent. */
#ifndef MW_STUDY_PAPER_H
#define MW_STUDY_PAPER_H

typedef struct mw_paper_row {
    const char *task, *quality;
    double reactive, planning;         /* per-setting planning gain, three denoising steps */
    double random;                     /* equal-candidate control, M = 8 */
    double reactive_won, planning_won; /* battles: win rates; otherwise NaN */
} mw_paper_row;

const mw_paper_row *mw_paper_at(int index); /* NULL past the end */
const mw_paper_row *mw_paper_find(const char *task, const char *quality);

#endif
