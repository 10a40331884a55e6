/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "tests/unit/setting.h"

#define S 1000000000ull

static struct policy_service service;

static int start(void **state)
{
    (void)state;
    memset(&service, 0, sizeof(service));
    service = policy_service_unlimited();
    service.window = 8;
    service.connections = 64;
    service.wait.places = 4;
    return 0;
}

static void set(const char *assignment)
{
    struct config_refusal refusal;
    int err = config_set_service(&service, assignment, &refusal);

    assert_taken(err, &refusal);
}

static void refused(const char *assignment, const char *why, const char *range)
{
    struct policy_service before = service;
    struct config_refusal refusal;
    int err = config_set_service(&service, assignment, &refusal);

    assert_refused(err, &refusal, why, range);
    assert_null(refusal.key); /* it is what was assigned */
    assert_memory_equal(&before, &service, sizeof(service));
}

static void every_key_sets_its_own_field(void **state)
{
    (void)state;
    set("connections=100");
    assert_int_equal(service.connections, 100);
    set("connections=unlimited");
    assert_int_equal(service.connections, POLICY_WINDOW_MAX);
    set("window=16");
    assert_int_equal(service.window, 16);
    assert_int_equal(service.connections, POLICY_WINDOW_MAX); /* they were stated */
    set("capacity=170/s");
    assert_int_equal(service.capacity.amount, 170);
    assert_false(service.capacity.unlimited);
    set("capacity=unlimited");
    assert_true(service.capacity.unlimited);
    set("deadline=1.5s");
    assert_true(service.deadline_ns == 3 * S / 2);
    set("deadline=none");
    assert_int_equal(service.deadline_ns, 0);
    set("wait.places=65536");
    assert_int_equal(service.wait.places, 65536);
    set("wait.age=250ms");
    assert_true(service.wait.age_ns == S / 4);
    set("shed.ceiling=0.5");
    assert_int_equal(service.shed.ceiling_ppm, 500000);
    set("breaker=open");
    assert_int_equal(service.breaker.mode, POLICY_BREAKER_OPEN);
    set("breaker=closed");
    assert_int_equal(service.breaker.mode, POLICY_BREAKER_CLOSED);
    set("breaker=auto");
    assert_int_equal(service.breaker.mode, POLICY_BREAKER_AUTO);
}

static void default_connections_follow_the_window(void **state)
{
    (void)state;
    set("window=100");
    assert_int_equal(service.connections, 800);
    set("window=unlimited");
    assert_int_equal(service.connections, POLICY_WINDOW_MAX);
    set("window=1");
    assert_int_equal(service.connections, 8);
}

static void a_ramp_is_a_share_over_a_time(void **state)
{
    (void)state;
    set("admit=10% over 60s");
    assert_int_equal(service.admit_ppm, 100000);
    assert_true(service.admit_over_ns == 60 * S);
    assert_int_equal(service.admit_orders, 1);
    set("admit=10%/60s"); /* the same again begins anew */
    assert_int_equal(service.admit_orders, 2);
    set("admit=0.5%/1h");
    assert_int_equal(service.admit_ppm, 5000);
    assert_true(service.admit_over_ns == 3600 * S);
    set("admit=0%/1s");
    assert_int_equal(service.admit_ppm, 0);
    set("admit=100%");
    assert_int_equal(service.admit_ppm, POLICY_PPM);
    assert_int_equal(service.admit_over_ns, 0);
    assert_int_equal(service.admit_orders, 5);
}

static void what_is_refused_changes_nothing(void **state)
{
    static const char keys[] = "window connections capacity deadline wait.places wait.age "
                               "shed.ceiling breaker admit";
    static const char admit[] = "100%, or 0%..100% over 1s..1h in whole s";

    (void)state;
    refused("window=-1", "\"-1\" is no window", "0..16777216 slots or \"unlimited\"");
    refused("connections=x", "\"x\" is no number of connections",
            "0..16777216 connections or \"unlimited\"");
    refused("capacity=0/s", "a capacity of 0 is none",
            "1/day and more, or \"unlimited\": not known");
    refused("capacity=5", "\"5\" has no period, such as /s",
            "0, unlimited, or 1..1000000000 per s, min, h or day");
    refused("deadline=0", "\"0\" has no unit, such as ms or s", "1ms..10min or \"none\"");
    refused("wait.places=65537", "\"65537\" is no number of places", "0..65536 places");
    refused("wait.age=11s", "\"11s\" is out of range", "1ms..10s");
    refused("shed.ceiling=98%", "\"98%\" is no plain decimal", "0..1");
    refused("breaker=half", "\"half\" is no mode of a breaker", "auto, open or closed");
    refused("admit=10%", "\"10%\" names no time to return in", admit);
    refused("admit=10 over 60s", "\"10 over 60s\" is no share over a time", admit);
    refused("admit=10%60s", "\"10%60s\" is no share over a time", admit);
    refused("admit=101%/60s", "\"101%/60s\" has no such share", admit);
    refused("admit=10.00001%/60s", "\"10.00001%/60s\" has no such share", admit);
    refused("admit=10%/500ms", "\"10%/500ms\" has no such time", admit);
    refused("admit=10%/1500ms", "\"10%/1500ms\" has no such time", admit);
    refused("admit=10% over ", "\"10% over \" has no such time", admit);
    refused("admit=0000000000000001%/60s", "\"0000000000000001%/60s\" is no share over a time",
            admit);
    refused("ports=80", "a service has no key \"ports\"", keys);
    refused("window", "\"window\" is no KEY=VALUE, without blanks", keys);
}

/* Two services of 4 and 6 places, room for 1024. */
static struct settings *two_services(struct policy_service *services)
{
    static struct settings settings;

    services[0] = service;
    services[1] = service;
    services[1].wait.places = 6;
    settings.policy = (struct policy_spec){.services = services, .n_services = 2};
    settings.dataplane.waiting_max = 1024;
    return &settings;
}

static void fits(const struct settings *settings)
{
    struct config_refusal refusal;
    int err = config_fit_service(settings, 0, &service, &refusal);

    assert_taken(err, &refusal);
}

static void unfit(const struct settings *settings, const char *key, const char *why,
                  const char *range)
{
    struct config_refusal refusal;
    int err = config_fit_service(settings, 0, &service, &refusal);

    assert_refused(err, &refusal, why, range);
    assert_string_equal(refusal.key, key);
}

static void places_stay_within_what_was_made(void **state)
{
    struct policy_service services[2];
    struct settings *settings = two_services(services);

    (void)state;
    set("wait.places=1018");
    fits(settings);
    set("wait.places=1019");
    unfit(settings, "wait.places", "the waiting places of all services were made 1024 at the start",
          "0..1018 places");
}

static void parts_still_fit_the_window(void **state)
{
    struct policy_share shares[2] = {{.guaranteed = 3}, {.guaranteed = 2}};
    struct policy_service services[2];
    struct settings *settings = two_services(services);

    (void)state;
    service.reserve[CLASS_NORMAL] = (struct policy_reserve){.slots = 1, .places = 1};
    service.reserve[CLASS_CRITICAL] = (struct policy_reserve){.slots = 3, .places = 2};
    set("window=4");
    unfit(settings, "reserve", "keeps back 4 slots of a window of 4, some must be left", "");
    set("window=5");
    fits(settings);
    set("wait.places=2");
    unfit(settings, "reserve", "keeps back 3 places of 2 waiting places", "");
    set("wait.places=3");
    service.shares = shares;
    service.n_shares = 2;
    fits(settings);
    shares[1].guaranteed = 3;
    unfit(settings, "shares", "guarantee 6 slots of a window of 5", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_key_sets_its_own_field, start),
        cmocka_unit_test_setup(default_connections_follow_the_window, start),
        cmocka_unit_test_setup(a_ramp_is_a_share_over_a_time, start),
        cmocka_unit_test_setup(what_is_refused_changes_nothing, start),
        cmocka_unit_test_setup(places_stay_within_what_was_made, start),
        cmocka_unit_test_setup(parts_still_fit_the_window, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
