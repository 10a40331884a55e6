/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A published model of a fax service, reproduced number by number from its scenario, with its door
 * decided by the gate's window: gserdyuk/twotakt, examples/FaxRx.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/sim/record.h"
#include "tools/sim/run.h"

#define SETS 4

static double metric(struct record *record, const char *name)
{
    double value;

    assert_true(record_metric(record, name, &value));
    return value;
}

static struct scenario *play(const char *const sets[SETS], struct record *record)
{
    struct scenario *scenario;
    int err = scenario_read(SLUICE_SCENARIOS "/faxrx.conf", sets, SETS, stderr, &scenario);

    assert_int_equal(err, 0);
    assert_int_equal(record_init(record, scenario), 0);
    assert_int_equal(run_scenario(scenario, record), 0);
    assert_int_equal(metric(record, "attempts"), metric(record, "offered"));
    assert_int_equal(metric(record, "refused_capacity"), metric(record, "refused"));
    assert_int_equal(metric(record, "offered"),
                     metric(record, "refused") + metric(record, "useful") +
                         metric(record, "unfinished") + metric(record, "open"));
    return scenario;
}

/* The counts as text, the last field as the number it is. */
static void assert_row(struct record *record, const char *row)
{
    const char *last = strrchr(row, ',');
    char text[256];

    snprintf(text, sizeof(text), "%.0f,%.0f,%.0f,%.0f,%.0f,%.0f", metric(record, "offered"),
             metric(record, "refused"), metric(record, "unfinished"), metric(record, "useful"),
             metric(record, "useful.plain"), metric(record, "useful.ocr"));
    assert_int_equal(strlen(text), last - row);
    assert_memory_equal(text, row, strlen(text));
    assert_true(metric(record, "eff_p95_s") == strtod(last + 1, NULL));
}

static void play_row(const char *line, const char *workers)
{
    char window[64], servers[64], factor[64], rest[200];
    const char *const sets[SETS] = {window, servers, factor, workers};
    unsigned channels, ocr_workers;
    char burst[16];
    struct scenario *scenario;
    struct record record;

    assert_int_equal(sscanf(line, "%*c,%u,%u,%15[^,],%199s", &channels, &ocr_workers, burst, rest),
                     4);
    snprintf(window, sizeof(window), "gate.services.fax.window=%u", channels);
    snprintf(servers, sizeof(servers), "stages.ocr.servers=%u", ocr_workers);
    snprintf(factor, sizeof(factor), "arrivals.0.decay.factor=%s", burst);
    scenario = play(sets, &record);
    assert_row(&record, rest);
    record_free(&record);
    scenario_free(scenario);
}

static void play_table(const char *workers)
{
    FILE *golden = fopen(SLUICE_GOLDEN "/faxrx.csv", "r");
    char line[256];
    unsigned rows = 0;

    assert_non_null(golden);
    assert_non_null(fgets(line, sizeof(line), golden)); /* names */
    for (; fgets(line, sizeof(line), golden); rows++)
        play_row(line, workers);
    assert_int_equal(rows, 33);
    fclose(golden);
}

static void all_rows_with_one_worker(void **state)
{
    (void)state;
    play_table("workers=1");
}

static void all_rows_with_four_workers(void **state)
{
    (void)state;
    play_table("workers=4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_with_one_worker),
        cmocka_unit_test(all_rows_with_four_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
