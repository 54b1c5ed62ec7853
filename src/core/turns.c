/* Workers that take turns on one thread; see turns.h. The first worker runs on the caller's own stack. All
 * pass the same barriers, so one round of turns is one barrier. */
#include "core/turns.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

struct mw_turns {
    int workers, present; /* whose turn it is */
    mw_pool_body *body;
    void *context;
    ucontext_t *at; /* [workers]: where each goes on */
    unsigned char *stacks;
    size_t stack; /* bytes of one; there are workers - 1 */
};

static _Thread_local mw_turns *entering;

static void give_turn(mw_turns *turns, int worker) {
    const int before = turns->present;
    turns->present = worker;
    swapcontext(&turns->at[before], &turns->at[worker]);
}

static void enter(void) {
    mw_turns *turns = entering;
    turns->body(turns->context, turns->present);
    give_turn(turns, 0); /* which waits for this in mw_turns_run */
}

/* As large as those of threads where there is room; pages that nobody touches cost nothing. */
static unsigned char *map_stacks(mw_turns *turns) {
    void *stacks = MAP_FAILED;
    for (size_t size = 8u << 20; stacks == MAP_FAILED && size >= 512u << 10; size /= 2) {
        turns->stack = size;
        stacks = mmap(NULL, (size_t)(turns->workers - 1) * size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    }
    return stacks == MAP_FAILED ? NULL : stacks;
}

mw_turns *mw_turns_create(int workers) {
    mw_turns *turns = calloc(1, sizeof *turns);
    if (!turns) return NULL;
    turns->workers = workers;
    turns->at = calloc((size_t)workers, sizeof *turns->at);
    turns->stacks = map_stacks(turns);
    if (turns->at && turns->stacks) return turns;
    mw_turns_free(turns);
    return NULL;
}

void mw_turns_free(mw_turns *turns) {
    if (!turns) return;
    if (turns->stacks) munmap(turns->stacks, (size_t)(turns->workers - 1) * turns->stack);
    free(turns->at);
    free(turns);
}

void mw_turns_run(mw_turns *turns, mw_pool_body *body, void *context) {
    turns->body = body;
    turns->context = context;
    turns->present = 0;
    entering = turns;
    for (int worker = 1; worker < turns->workers; worker++) {
        ucontext_t *at = &turns->at[worker];
        getcontext(at);
        at->uc_stack.ss_sp = turns->stacks + (size_t)(worker - 1) * turns->stack;
        at->uc_stack.ss_size = turns->stack;
        at->uc_link = NULL; /* nobody returns from enter */
        makecontext(at, enter, 0);
    }
    body(context, 0);
    for (int worker = 1; worker < turns->workers; worker++) give_turn(turns, worker);
}

void mw_turns_barrier(mw_turns *turns) {
    give_turn(turns, (turns->present + 1) % turns->workers);
}
