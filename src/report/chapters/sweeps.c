/* Sweeps: what the numbers of candidates, steps ahead and sampling steps buy, and what the oracle's horizon
 * costs it. */
#include "report/page.h"

void mw_item_sweeps(mw_page *page) {
    mw_page_missing(page, "no sweep of any setting",
                    "mawam eval study/bundles/SETTING.safetensors --sweep M=1,2,4,8,16 --json "
                    "study/sweeps/SETTING.json");
}

void mw_item_oracle_horizon(mw_page *page) {
    mw_page_missing(page, "no sweep of the oracle's horizon",
                    "mawam eval study/bundles/2ant-medium.safetensors --arms oracle --sweep H=1..8 --json "
                    "study/sweeps/2ant-medium.json");
}
