/* SPDX-License-Identifier: BSD-3-Clause */
/* How tenants are shown, to the last number, and how long listings come in pieces. */
#include "tests/unit/asking.h"

static void a_limited_tenant_shows_limits_use_and_counters(void **state)
{
    assert_answer(
        *state, "tenants acme",
        "{'version':1,'tenants':[{'name':'acme','class':'normal','quota':{"
        "'attempts':{'rate':'20/s','burst':10,'tokens':3},"
        "'packets':{'rate':'3000/min','burst':1000},"
        "'bits':{'rate':'200Mbit/s','burst':262144},'erlangs':{'rate':2.5,'level_s':-1.75}},"
        "'window':{'limit':5,'used':10,'peak':11,'debt':5},'retries':{'left':9.7},"
        "'offered':40010,'attempts':40001,'attempt_packets':40002,'admitted':40003,'adopted':40004,"
        "'waited':40011,'cancelled':40012,'useful':40013,'late':40014,'unfinished':40015,"
        "'refused':{'rate':40101,'packets':40102,'bits':40103,'share':40104,'erlangs':40105,"
        "'retries':40106,'capacity':40107,'connections':40108,'shed':40109,'deadline':40110,"
        "'breaker':40111,'gateway':40112,'table':40113,'denied':40114},"
        "'dropped':{'packets':40005,'bits':40006},"
        "'packets':{'in':40007,'out':40008},"
        "'bytes':{'in':40009,'out':9007199254780993}}]}");
}

static void an_unlimited_tenant_says_so(void **state)
{
    struct fake *fake = *state;
    json_t *answer = ask(fake, "tenants default"), *tenant;

    tenant = first_of(answer, "tenants");
    assert_json(json_object_get(tenant, "quota"),
                "{'attempts':{'rate':'unlimited'},'packets':{'rate':'unlimited'},"
                "'bits':{'rate':'unlimited'},'erlangs':{'rate':'unlimited'}}");
    assert_json(json_object_get(tenant, "window"),
                "{'limit':'unlimited','used':7,'peak':8,'debt':0}");
    json_decref(answer);
}

static void tenants_come_in_the_order_of_the_configuration(void **state)
{
    static const char *const names[] = {"default", "acme", "t2", "t3"};
    struct fake *fake = *state;
    json_t *answer = ask(fake, "tenants");
    json_t *list = json_object_get(answer, "tenants");

    assert_int_equal(json_array_size(list), 4);
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "name")),
                            names[i]);
    json_decref(answer);
}

/* A rate as `sluicectl` shows it can be given back to it. */
static void rates_are_written_as_the_configuration_writes_them(void **state)
{
    static const struct {
        struct quota_rate attempts, bits;
        const char *attempts_text, *bits_text;
    } rows[] = {
        {{1, 0, 86400, false}, {1, 9000, 1, false}, "1/day", "1bit/s"},
        {{7, 0, 3600, false}, {1500, 9000, 1, false}, "7/h", "1500bit/s"},
        {{30, 0, 60, false}, {64000, 9000, 1, false}, "30/min", "64kbit/s"},
        {{100000000, 0, 1, false}, {1500000000, 9000, 1, false}, "100000000/s", "1500Mbit/s"},
        {{0, 5, 1, false}, {400000000000, 9000, 1, false}, "0", "400Gbit/s"},
        {{0, 0, 1, true}, {0, 9000, 1, false}, "unlimited", "0"},
    };
    struct fake *fake = *state;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *answer, *quota;

        fake->settings.policy.tenants[1].attempts = rows[i].attempts;
        fake->settings.policy.tenants[1].bits = rows[i].bits;
        answer = ask(fake, "tenants acme");
        quota = json_object_get(first_of(answer, "tenants"), "quota");
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(quota, "attempts"), "rate")),
            rows[i].attempts_text);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(quota, "bits"), "rate")),
            rows[i].bits_text);
        json_decref(answer);
    }
}

/* A long list comes in pieces: whole, each element once, in order. */
static void ten_thousand_tenants_come_in_pieces(void **state)
{
    struct fake *fake = fake_create(10000);
    struct control_answer *answer = verbs_answer(&fake->plane, "tenants");
    unsigned pieces = 0;
    json_t *whole, *list;
    char *piece;

    (void)state;
    while ((piece = answer->next(answer))) {
        assert_true(strlen(piece) < 65536);
        assert_int_equal(strchr(piece, '\n') != NULL, ++pieces == 313); /* of 32 each */
        free(piece);
    }
    assert_int_equal(pieces, 313);
    answer->release(answer);

    whole = ask(fake, "tenants");
    list = json_object_get(whole, "tenants");
    assert_int_equal(json_array_size(list), 10000);
    for (unsigned i = 4; i < 10000; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "attempts")),
                         10000 * (i + 1) + 1);
    json_decref(whole);
    fake_destroy(fake);
}

static void no_tenant_is_lost_where_pieces_meet(void **state)
{
    (void)state;
    for (uint32_t n = 31; n <= 65; n++) {
        struct fake *fake = fake_create(n);
        json_t *answer = ask(fake, "tenants");

        assert_int_equal(json_array_size(json_object_get(answer, "tenants")), n);
        json_decref(answer);
        fake_destroy(fake);
    }
}

/* A client may leave with its answer half made. */
static void an_answer_may_be_released_half_made(void **state)
{
    struct fake *fake = fake_create(100);
    struct control_answer *answer = verbs_answer(&fake->plane, "tenants");

    (void)state;
    free(answer->next(answer));
    fake_destroy(fake);
    answer->release(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERB_TEST(a_limited_tenant_shows_limits_use_and_counters),
        VERB_TEST(an_unlimited_tenant_says_so),
        VERB_TEST(tenants_come_in_the_order_of_the_configuration),
        VERB_TEST(rates_are_written_as_the_configuration_writes_them),
        VERB_TEST(ten_thousand_tenants_come_in_pieces),
        VERB_TEST(no_tenant_is_lost_where_pieces_meet),
        VERB_TEST(an_answer_may_be_released_half_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
