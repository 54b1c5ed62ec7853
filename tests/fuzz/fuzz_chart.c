/* Charts and learning curves: the first byte says whether the rest is a curve's lines or pairs of doubles. */
#include "fuzz.h"

#include "behavior/learn/curve.h"
#include "train/chart.h"

enum { MOST = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    if (size < 1) return 0;
    if (data[0] & 1) {
        fuzz_put("curve.jsonl", data + 1, size - 1);
        mw_curve_draw(fuzz_path("curve.jsonl"), fuzz_path("x.svg"), "title", &error);
        return 0;
    }
    double x[MOST], y[MOST];
    long count = 0;
    for (size_t at = 1; at + 16 <= size && count < MOST; at += 16, count++) {
        memcpy(&x[count], data + at, 8);
        memcpy(&y[count], data + at + 8, 8);
    }
    const mw_chart_line line = {"line", x, y, count};
    const mw_chart panel = {"title", "steps", data[0] & 2, &line, 1};
    FUZZ_EXPECT(mw_chart_write(fuzz_path("x.svg"), &panel, 1, &error) == MW_OK);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return size > 1 && data[0] & 1 ? 1 + fuzz_mutate_numbers(data + 1, size - 1, most - 1, seed)
                                   : LLVMFuzzerMutate(data, size, most);
}
