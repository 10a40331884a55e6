/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/setting.h"

static const struct policy_tenant acme = {
    .attempts = {.amount = 20, .burst = 10, .period_s = 1},
    .packets = {.period_s = 1, .unlimited = true},
    .bits = {.period_s = 1, .unlimited = true},
    .window = 5,
    .id = 3,
    .class = CLASS_NORMAL,
    .name = "acme",
};

static struct policy_tenant tenant;

static int start(void **state)
{
    (void)state;
    tenant = acme;
    return 0;
}

static void set(const char *assignment)
{
    struct config_refusal refusal;
    int err = config_set_tenant(&tenant, assignment, &refusal);

    assert_taken(err, &refusal);
}

static void refused(const char *assignment, const char *why, const char *range)
{
    struct policy_tenant before = tenant;
    struct config_refusal refusal;
    int err = config_set_tenant(&tenant, assignment, &refusal);

    assert_refused(err, &refusal, why, range);
    assert_null(refusal.key); /* it is what was assigned */
    assert_memory_equal(&before, &tenant, sizeof(tenant));
}

static void every_key_sets_its_own_field(void **state)
{
    (void)state;
    set("quota.attempts=200/min");
    assert_int_equal(tenant.attempts.amount, 200);
    assert_int_equal(tenant.attempts.period_s, 60);
    assert_int_equal(tenant.attempts.burst, 10);
    set("quota.attempts_burst=20");
    assert_int_equal(tenant.attempts.burst, 20);
    set("quota.packets=1000/s");
    assert_int_equal(tenant.packets.amount, 1000);
    assert_int_equal(tenant.packets.burst, 100);
    assert_false(tenant.packets.unlimited);
    set("quota.packets_burst=0");
    assert_int_equal(tenant.packets.burst, 0);
    set("quota.bits=2.5Gbit/s");
    assert_true(tenant.bits.amount == 2500000000);
    assert_int_equal(tenant.bits.burst, 31250000);
    set("quota.bits_burst=256KiB");
    assert_int_equal(tenant.bits.burst, 262144);
    set("window=16");
    assert_int_equal(tenant.window, 16);
    set("window=unlimited");
    assert_int_equal(tenant.window, POLICY_WINDOW_MAX);
    set("quota.erlangs=2.5");
    assert_int_equal(tenant.milli_erlangs, 2500);
    set("quota.erlangs=unlimited");
    assert_true(tenant.milli_erlangs == POLICY_ERLANGS_UNLIMITED);
    set("quota.erlangs=65536");
    assert_true(tenant.milli_erlangs == 65536000);
    set("class=critical");
    assert_int_equal(tenant.class, CLASS_CRITICAL);
    assert_string_equal(tenant.name, "acme");
    assert_int_equal(tenant.id, 3);
}

/* To 0 or unlimited and back, the burst is what it was, a burst of 0 included. */
static void a_burst_outlives_its_rate(void **state)
{
    (void)state;
    set("quota.attempts=0");
    assert_int_equal(tenant.attempts.amount, 0);
    assert_false(tenant.attempts.unlimited);
    set("quota.attempts=unlimited");
    assert_true(tenant.attempts.unlimited);
    set("quota.attempts=500/s");
    assert_int_equal(tenant.attempts.burst, 10);
    assert_false(tenant.attempts.unlimited);
    set("quota.attempts_burst=0");
    set("quota.attempts=900/s");
    assert_int_equal(tenant.attempts.burst, 0);
}

static void what_is_refused_changes_nothing(void **state)
{
    static const char rate[] = "0, unlimited, or 1..1000000000 per s, min, h or day";
    static const char keys[] = "quota.attempts quota.attempts_burst quota.packets "
                               "quota.packets_burst quota.bits quota.bits_burst quota.erlangs "
                               "window class";

    (void)state;
    refused("quota.attempts=20/fortnight", "\"20/fortnight\" is no rate", rate);
    refused("quota.attempts=2000000000/s", "\"2000000000/s\" is out of range", rate);
    refused("quota.packets=", "no value follows the = (without blanks)", "");
    refused("quota.packets=20", "\"20\" has no period, such as /s", rate);
    refused("quota.bits=1.5", "\"1.5\" has no unit, such as Mbit/s",
            "0, unlimited, or 8bit/s..400Gbit/s in bit, kbit, Mbit or Gbit/s");
    refused("quota.bits_burst=256", "\"256\" has no unit, such as KiB",
            "1B..9200000000B in B, KiB, MiB or GiB");
    refused("quota.packets_burst=1e3", "\"1e3\" is no burst", "0..9199999999");
    refused("quota.bits=401Gbit/s", "\"401Gbit/s\" is out of range",
            "0, unlimited, or 8bit/s..400Gbit/s in bit, kbit, Mbit or Gbit/s");
    refused("quota.bits_burst=6GB", "\"6GB\" is no size", "1B..9200000000B in B, KiB, MiB or GiB");
    refused("window=16777217", "\"16777217\" is no window", "0..16777216 slots or \"unlimited\"");
    refused("window=-1", "\"-1\" is no window", "0..16777216 slots or \"unlimited\"");
    refused("window=18446744073709551617", "\"18446744073709551617\" is no window",
            "0..16777216 slots or \"unlimited\"");
    refused("quota.erlangs=0.0005", "\"0.0005\" is too fine", "0..65536 or \"unlimited\"");
    refused("quota.erlangs=65536.001", "\"65536.001\" is out of range",
            "0..65536 or \"unlimited\"");
    refused("class=vip", "\"vip\" is no class", "bulk, normal or critical");
    refused("window", "\"window\" is no KEY=VALUE, without blanks", keys);
    refused("quota.brust=5", "a tenant has no key \"quota.brust\"", keys);
    refused("=", "a tenant has no key \"\"", keys);
    refused("=5", "a tenant has no key \"\"", keys);
}

static void a_burst_must_fit_the_new_period(void **state)
{
    (void)state;
    set("quota.attempts_burst=200000");
    refused("quota.attempts=5/day", "the burst of 200000 is too large for this rate",
            "0..106480 with a rate per day");
    set("quota.attempts_burst=106480");
    set("quota.attempts=5/day");
    assert_int_equal(tenant.attempts.period_s, 86400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_key_sets_its_own_field, start),
        cmocka_unit_test_setup(a_burst_outlives_its_rate, start),
        cmocka_unit_test_setup(what_is_refused_changes_nothing, start),
        cmocka_unit_test_setup(a_burst_must_fit_the_new_period, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
