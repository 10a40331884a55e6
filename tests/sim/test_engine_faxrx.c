/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A published model of a fax service, reproduced number by number, with its door decided by the
 * gate's window: gserdyuk/twotakt, examples/FaxRx.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/model.h"

#define HORIZON_S 7200

enum { OCR_FIRST, PLAIN };
enum { CALL, WORK, OCR, MAIL };

static struct draw mean(double s)
{
    return (struct draw){.kind = DRAW_EXPONENTIAL, .mean_s = s, .rate_per_s = 1.0 / s};
}

static void add_kind(struct model *m, uint32_t kind, const char *name, double deadline_s)
{
    m->kinds[kind].name = name;
    m->kinds[kind].deadline_s = deadline_s;
    m->kinds[kind].expired = EXPIRED_REMOVED;
    model_step(m, kind, CALL, mean(90));
    model_step(m, kind, WORK, mean(5));
    if (kind == OCR_FIRST)
        model_step(m, kind, OCR, mean(20));
    model_step(m, kind, MAIL, mean(2));
    m->kinds[kind].reply_after = 1; /* the call is over: its channel is free */
}

static void start_fax(struct model *m, uint32_t channels, uint32_t ocr_workers, double burst)
{
    model_start(m, 2.78, HORIZON_S, 1000000);
    m->scenario.cut = true;
    m->scenario.n_kinds = 2;
    m->scenario.n_stages = 4;
    m->arrivals[0].shape = ARRIVE_DECAY;
    m->arrivals[0].poisson = true;
    m->arrivals[0].factor = burst;
    m->arrivals[0].decay = 5;
    m->arrivals[0].width_s = 3600;
    m->arrivals[0].every_s = 43200;
    m->arrivals[0].n_kinds = 2;
    m->arrivals[0].kinds[1] = PLAIN;
    add_kind(m, OCR_FIRST, "ocr", 3600);
    add_kind(m, PLAIN, "plain", 600);
    m->stages[WORK].servers = 20;
    m->stages[OCR].servers = ocr_workers;
    model_gate(m, channels, 0, CORE_MS);
    m->settings.control.period_ns = CORE_S; /* it decides nothing here, and is most of the run */
}

static void assert_row(struct model *m, const char *row)
{
    char text[256];

    snprintf(text, sizeof(text), "%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.17g", model_metric(m, "offered"),
             model_metric(m, "refused"), model_metric(m, "unfinished"), model_metric(m, "useful"),
             model_metric(m, "useful.plain"), model_metric(m, "useful.ocr"),
             model_metric(m, "eff_p95_s"));
    /* The counts as text, the last field as the number it is. */
    assert_int_equal(strrchr(row, ',') - row, strrchr(text, ',') - text);
    assert_memory_equal(row, text, (size_t)(strrchr(row, ',') - row));
    assert_true(strtod(strrchr(row, ',') + 1, NULL) == strtod(strrchr(text, ',') + 1, NULL));
}

static void play_table(uint32_t workers)
{
    static struct model m;
    FILE *golden = fopen(SLUICE_GOLDEN "/faxrx.csv", "r");
    char line[256], rest[200];
    unsigned channels, ocr_workers, rows = 0;
    double burst;

    assert_non_null(golden);
    assert_non_null(fgets(line, sizeof(line), golden)); /* names */
    while (fgets(line, sizeof(line), golden)) {
        assert_int_equal(sscanf(line, "%*c,%u,%u,%lf,%199s", &channels, &ocr_workers, &burst, rest),
                         4);
        start_fax(&m, channels, ocr_workers, burst);
        m.scenario.workers = workers;
        model_play(&m);
        assert_row(&m, rest);
        model_stop(&m);
        rows++;
    }
    assert_int_equal(rows, 33);
    fclose(golden);
}

static void all_rows_with_one_worker(void **state)
{
    (void)state;
    play_table(1);
}

static void all_rows_with_four_workers(void **state)
{
    (void)state;
    play_table(4);
}

/* The draws by which the model's author can be followed. */
static void first_calls_are_the_models(void **state)
{
    static struct model m;

    (void)state;
    start_fax(&m, 270, 35, 1);
    m.scenario.duration_s = .37;
    model_play(&m);
    assert_metric(&m, "offered", 1, 1);
    m.scenario.duration_s = .3761;
    model_play(&m);
    assert_metric(&m, "offered", 1, 2);
    model_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_calls_are_the_models),
        cmocka_unit_test(all_rows_with_one_worker),
        cmocka_unit_test(all_rows_with_four_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
