/* The live view's worlds in process: a bundle's own idea of an episode's length sizes nothing, and after
 * memory has run out in any operation the worlds stand where they stood and play on with the same bits. */
#include "fuzz/small_duel.h"

#include "live/session_state.h"
#include "live/frame.h"

#include "allocations.h"
#include "scratch.h"

#include "core/rng.h"

/* ---- the whole state as one number ---- */

static uint64_t mix(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t mix_moment(uint64_t hash, const mw_duel *duel, const mw_duel_moment *m) {
    const size_t joint = (size_t)(duel->world->agents * duel->world->obs_size), count = (size_t)m->candidates;
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        const mw_outcome *o = &m->side[s].outcome;
        const int outcome[] = {o->step, o->terminated, o->truncated, o->won};
        hash = mix(mix(hash, outcome, sizeof outcome), &m->side[s].total, sizeof m->side[s].total);
        hash = mix(hash, m->world[s], mw_env_snapshot_size(duel->side[s].env));
        hash = mix(hash, m->memory[s], m->memory_size[s]);
    }
    const int decision[] = {m->candidates, m->horizon, m->places, m->chosen, m->forced, m->handled};
    hash = mix(mix(hash, decision, sizeof decision), m->obs, joint * sizeof(float));
    if (!count) return hash;
    hash = mix(mix(hash, m->scores, count * sizeof(float)), m->weights, count * sizeof(float));
    hash = mix(hash, m->imagined, (size_t)m->horizon * joint * sizeof(float));
    for (size_t k = 0; m->labels && k < count; k++)
        hash = mix(hash, m->labels + k * MW_DUEL_LABEL, strlen(m->labels + k * MW_DUEL_LABEL));
    return hash;
}

/* All but what the clock says: worlds, planners, what was decided and what is kept. */
static uint64_t state_of(const mw_duel *duel) {
    static unsigned char bytes[1 << 18];
    uint64_t hash = 0xcbf29ce484222325u;
    const uint64_t numbers[] = {
        duel->seed,           duel->episode,       (uint64_t)duel->step, (uint64_t)duel->first,
        (uint64_t)duel->last, (uint64_t)duel->arm, duel->changed};
    hash = mix(mix(hash, numbers, sizeof numbers), &duel->plan, sizeof duel->plan);
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        const mw_duel_side *side = &duel->side[s];
        const size_t n = (size_t)duel->world->agents;
        assert_true(mw_env_snapshot_size(side->env) <= sizeof bytes);
        mw_env_snapshot(side->env, bytes);
        hash = mix(hash, bytes, mw_env_snapshot_size(side->env));
        const mw_outcome *o = &mw_duel_now(duel)->side[s].outcome;
        if (o->terminated || o->truncated) continue; /* nothing was decided */
        assert_true(mw_planner_snapshot_size(side->planner) <= sizeof bytes);
        mw_planner_snapshot(side->planner, 0, bytes);
        hash = mix(hash, bytes, mw_planner_snapshot_size(side->planner));
        hash = duel->world->discrete
                   ? mix(hash, side->index, n * sizeof *side->index)
                   : mix(hash, side->real, n * (size_t)duel->world->act_size * sizeof *side->real);
    }
    for (int t = duel->first; t <= duel->last; t++) hash = mix_moment(hash, duel, mw_duel_at(duel, t));
    return hash;
}

/* ---- lengths of episodes ---- */

static uint64_t play_out(const char *path, int *steps) {
    mw_error error;
    mw_bundle *bundle;
    mw_duel *duel;
    CHECK_OK(mw_bundle_load(&bundle, path, &error), error);
    CHECK_OK(mw_duel_open(&duel, bundle, 3, 1, &error), error);
    for (*steps = 0; !mw_duel_over(duel) && *steps < 1000; ++*steps) {
        CHECK_OK(mw_duel_advance(duel, &error), error);
        check_duel(duel);
    }
    CHECK_OK(mw_duel_seek(duel, *steps / 2, &error), error);
    check_duel(duel);
    const uint64_t state = state_of(duel);
    mw_duel_close(duel);
    return state;
}

/* Data of ten steps train a bundle that says ten; whatever it says, the world plays its own length. */
static void limits_of_files(void **state) {
    (void)state;
    static const int limits[] = {10, 1, 1000000000};
    int whole, steps;
    save_task_bundle(scratch("own"), "spread", 0);
    allocated_forget();
    const uint64_t expected = play_out(scratch("own"), &whole);
    const long most = allocated_most();
    assert_int_equal(whole, 25);
    for (int i = 0; i < 3; i++) {
        save_task_bundle(scratch("other"), "spread", limits[i]);
        allocated_forget();
        assert_true(play_out(scratch("other"), &steps) == expected);
        assert_int_equal(steps, whole);
        assert_true(allocated_most() <= most + 4096);
    }
}

/* ---- going on after a fault ---- */

static uint32_t below(mw_rng *rng, uint32_t n) {
    return mw_rng_below(rng, n);
}

/* A command as a visitor may give it, most of them valid. */
static void draw_command(char *text, size_t size, mw_rng *rng, const mw_duel *duel) {
    static const char *const settings[] = {"candidates", "horizon",    "sampling_steps", "temperature",
                                           "caution",    "warm_start", "scorer",         "nothing"};
    static const char *const values[] = {"1", "2", "5", "8", "0", "on", "off", "rwm", "none", "65"};
    static const char *const bundles[] = {"a.safetensors", "b.safetensors", "c.safetensors"};
    const int step = duel->first + (int)below(rng, (uint32_t)(duel->last - duel->first + 2));
    switch (below(rng, 12)) {
    case 0:
        snprintf(text, size, "{\"do\":\"seek\",\"step\":%d}", step);
        return;
    case 1:
    case 2:
        snprintf(text, size, "{\"do\":\"force\",\"step\":%d,\"candidate\":%u}", step, below(rng, 4));
        return;
    case 3:
    case 4:
        snprintf(text, size, "{\"do\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}", settings[below(rng, 8)],
                 values[below(rng, 10)]);
        return;
    case 5:
        snprintf(text, size, "{\"do\":\"arm\",\"name\":\"%s\"}", mw_arm_name((int)below(rng, 6)));
        return;
    case 6:
        snprintf(text, size, "{\"do\":\"place\",\"step\":%d,\"role\":\"%s\",\"id\":%u,\"x\":0.25,\"y\":-1}",
                 step, below(rng, 2) ? "agent" : "landmark", below(rng, 4));
        return;
    case 7:
        if (below(rng, 3) == 0)
            snprintf(text, size, "{\"do\":\"begin\",\"seed\":%u}", below(rng, 9));
        else
            snprintf(text, size, "{\"do\":\"bundle\",\"name\":\"%s\"}", bundles[below(rng, 3)]);
        return;
    default:
        snprintf(text, size, "{\"do\":\"step\"}");
        return;
    }
}

static void expect_json(const char *text, size_t size) {
    json_error_t problem;
    json_t *value = json_loadb(text, size, 0, &problem);
    if (!json_is_object(value)) fail_msg("%s: %s", problem.text, text);
    json_decref(value);
}

/* What visitors are sent, whole or not at all. Ends the faults. */
static void read_all(mw_session *session) {
    mw_status (*const texts[])(mw_session *, char **, size_t *,
                               mw_error *) = {mw_session_about, mw_session_history, mw_session_recording};
    char *text[3];
    size_t size[3];
    mw_status status[3];
    mw_error error;
    for (int i = 0; i < 3; i++) status[i] = texts[i](session, &text[i], &size[i], &error);
    allocations_fail_at(0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(status[i], text[i] ? MW_OK : MW_ERR_MEMORY);
        if (text[i] && i < 2) expect_json(text[i], size[i]);
        if (text[i] && i == 2) assert_string_equal(text[i] + size[i] - 8, "</html>\n");
        free(text[i]);
    }
    mw_message *message = mw_session_latest(session);
    if (message) {
        assert_string_equal(message->text + message->size - 2, "\n\n");
        expect_json(message->text + 6, message->size - 6);
    }
    mw_message_release(message);
}

static void open_session(mw_session **session, const char *first) {
    mw_error error;
    CHECK_OK(mw_session_create(session, scratch("bundles"), first, 1, 1, &error), error);
}

/* A sequence twice: without faults, and with one in most operations, each of which is then given again. */
static long go_on(uint64_t seed, int operations) {
    mw_session *whole, *faulty;
    mw_rng rng = mw_rng_make(seed, MW_RNG_SCRIPT, 0, 0, 0);
    long failed = 0;
    open_session(&whole, seed % 2 ? "a.safetensors" : "b.safetensors");
    open_session(&faulty, seed % 2 ? "a.safetensors" : "b.safetensors");
    const mw_stage *const a = &faulty->stage, *const b = &whole->stage;
    for (int k = 0; k < operations; k++) {
        char text[256];
        mw_error error, other;
        draw_command(text, sizeof text, &rng, b->duel);
        const uint64_t before = state_of(a->duel);
        const long at = 1 + (long)below(&rng, below(&rng, 2) ? 20 : 400);
        if (below(&rng, 2))
            allocations_fail_at(at);
        else
            allocations_fail_from(at);
        const mw_status status = mw_session_command(faulty, text, strlen(text), &error);
        read_all(faulty);
        check_duel(a->duel);
        if (a->duel->torn) CHECK_OK(mw_duel_seek(a->duel, a->duel->step, &error), error);
        const mw_status expected = mw_session_command(whole, text, strlen(text), &other);
        if (status != MW_OK && status != expected) { /* or a fault that was told as a refusal */
            failed++;
            if (state_of(a->duel) != before)
                fail_msg("seed %d, %d: %s changed something", (int)seed, k, text);
            assert_int_equal(mw_session_command(faulty, text, strlen(text), &error), expected);
        }
        if (state_of(a->duel) != state_of(b->duel))
            fail_msg("seed %d, %d: after %s the worlds differ", (int)seed, k, text);
        assert_string_equal(a->bundle, b->bundle);
    }
    read_all(faulty);
    mw_session_free(whole);
    mw_session_free(faulty);
    return failed;
}

static void goes_on_after_faults(void **state) {
    (void)state;
    const char *seeds = getenv("SEEDS"), *first = getenv("SEED");
    const long begin = first ? atol(first) : 1, count = seeds ? atol(seeds) : 40;
    long failed = 0;
    if (!COUNTING) skip();
    assert_int_equal(mkdir(scratch("bundles"), 0700), 0);
    save_task_bundle(scratch("bundles/a.safetensors"), "spread", 0);
    save_task_bundle(scratch("bundles/b.safetensors"), "3m", 0);
    scratch_write(scratch("bundles/c.safetensors"), "broken", 6);
    for (long seed = begin; seed < begin + count; seed++) failed += go_on((uint64_t)seed, 60);
    print_message("%ld operations failed for memory and went on\n", failed);
    assert_true(failed > 5 * count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_of_files),
                                       cmocka_unit_test(goes_on_after_faults)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
