/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/config/config.h"
#include "tests/scenario/real.h"
#include "tools/sim/result.h"

/* With columns of every sort. */
static void a_result_survives_its_pipe(void **state)
{
    static struct scenario_column columns[] = {
        {"arch", "variant"}, {"burst", "sweep"}, {"n", "offered"}, {"p95", "eff_p95_s"}};
    static struct scenario_kind kinds[] = {{.name = "plain"}, {.name = "ocr"}};
    static struct settings gate;
    static const struct scenario scenario = {.duration_s = 100,
                                             .n_kinds = 2,
                                             .kinds = kinds,
                                             .n_columns = 4,
                                             .columns = columns,
                                             .gate = &gate};
    const struct run_label label = {.variant = "A", .sweep_key = "k", .value = "1.50"};
    struct result made, read_back = {.label = label};
    struct record record;
    static char bytes[60000];
    ssize_t n;
    int ends[2];

    (void)state;
    assert_int_equal(record_init(&record, &scenario), 0);
    for (uint32_t i = 0; i < 100; i++) {
        record_offered(&record);
        record_end(&record, &(struct record_ending){.kind = i % 2, .latency_s = .5});
        record_interval(&record, i + 1, &(struct record_levels){.shed = i == 7 ? .5 : 0});
    }
    record_finish(&record, 100);
    assert_int_equal(result_make(&made, &scenario, &record, &label, true), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(result_write(&made, ends[1]), 0);
    n = read(ends[0], bytes, sizeof(bytes));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(result_read(&read_back, bytes, (size_t)n - 1), -EBADMSG);
    assert_int_equal(result_read(&read_back, bytes, (size_t)n), 0);
    assert_true(read_back.has_gate);
    assert_int_equal(read_back.n_rows, 100);
    assert_same(read_back.rows[99].t_s, 99);
    assert_int_equal(read_back.summary.counts.offered, 100);
    assert_same(read_back.summary.shed, .5);
    assert_same(result_value(&read_back, "useful.ocr"), 50);
    assert_true(isnan(result_value(&read_back, "useful.fax")));
    assert_int_equal(read_back.n_cells, 4);
    assert_string_equal(read_back.cells[0], "A");
    assert_string_equal(read_back.cells[1], "1.50");
    assert_string_equal(read_back.cells[2], "100");
    assert_string_equal(read_back.cells[3], "0.5");
    result_free(&made);
    result_free(&read_back);
    record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_survives_its_pipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
