/* SPDX-License-Identifier: BSD-3-Clause */
/* The deny list as it is asked for. */
#include <errno.h>

#include "tests/unit/asking.h"

#define NONE     "'repeated':0,'masked':[]"
#define IN_FORCE "'pending':false,'unsaved':null}"

static void there_is_nobody_at_first(void **state)
{
    assert_answer(*state, "deny list", "{'version':1,'denied':[]}");
}

static void what_is_added_is_listed(void **state)
{
    struct fake *fake = *state;

    fake->plane.denied_now_ns = 100500000000; /* half a second into a second */
    assert_answer(fake, "deny add 10.2.0.0/16 2001:db8::/32",
                  "{'version':1,'added':2,'renewed':0," NONE ",'entries':2,'epoch':8," IN_FORCE);
    assert_answer(fake, "deny add 10.1.0.7 for 10min",
                  "{'version':1,'added':1,'renewed':0," NONE ",'entries':3,'epoch':9," IN_FORCE);
    assert_answer(fake, "deny list",
                  "{'version':1,'denied':[{'prefix':'10.1.0.7/32','expires_in':'600s'},"
                  "{'prefix':'10.2.0.0/16','expires_in':null},"
                  "{'prefix':'2001:db8::/32','expires_in':null}]}");
    assert_int_equal(fake->plane.denied->ends_s[0], 701); /* never earlier than was asked for */
    fake->plane.denied_now_ns = 700999999999;
    assert_answer(fake, "deny del 10.2.0.0/16 2001:db8::/32",
                  "{'version':1,'deleted':2," NONE ",'entries':1,'epoch':10," IN_FORCE);
    assert_answer(fake, "deny list",
                  "{'version':1,'denied':[{'prefix':'10.1.0.7/32','expires_in':'0s'}]}");
}

static void host_bits_repetitions_and_renewals_are_said(void **state)
{
    struct fake *fake = *state;

    assert_answer(fake, "deny add 10.1.2.3/16 10.1.0.0/16 2001:db8::1/32 10.3.0.0/16 10.3.0.0/16",
                  "{'version':1,'added':3,'renewed':0,'repeated':2,"
                  "'masked':[{'given':'10.1.2.3/16','meant':'10.1.0.0/16'},"
                  "{'given':'2001:db8::1/32','meant':'2001:db8::/32'}],"
                  "'entries':3,'epoch':8," IN_FORCE);
    /* The same networks: no other policy. The end it had is gone, or it has one now. */
    assert_answer(fake, "deny add 10.1.0.0/16 for 1h",
                  "{'version':1,'added':0,'renewed':1," NONE ",'entries':3,'epoch':8," IN_FORCE);
    assert_int_equal(fake->plane.denied->ends_s[0], 1000 + 3600);
    assert_answer(fake, "deny add 10.1.0.0/16 10.4.0.0/16",
                  "{'version':1,'added':1,'renewed':1," NONE ",'entries':4,'epoch':9," IN_FORCE);
    assert_int_equal(fake->plane.denied->ends_s[0], DENY_FOREVER);
    assert_int_equal(fake->published, 2);
}

static void mistakes_change_nothing(void **state)
{
    struct fake *fake = *state;

    json_decref(ask(fake, "deny add 10.1.0.0/16"));
    assert_code(fake, "deny add 10.2.0.0/16 10.3.0.0/33", "range", "10.3.0.0/33");
    assert_code(fake, "deny add 10.2.0.0/16 for 999ms", "range", "for");
    assert_code(fake, "deny add 10.2.0.0/16 for 8761h", "range", "for");
    assert_code(fake, "deny add 10.2.0.0/16 for ever", "range", "for");
    assert_code(fake, "deny add 10.2.0.0/16 for", "usage", "for");
    assert_code(fake, "deny add 10.2.0.0/16 for 1h 10.3.0.0/16", "usage", "for");
    assert_code(fake, "deny add 10.2.0.0/16 for for 1h", "usage", "for");
    assert_code(fake, "deny add for 10min", "usage", NULL);
    assert_code(fake, "deny add", "usage", NULL);
    assert_code(fake, "deny del", "usage", NULL);
    assert_code(fake, "deny list 10.1.0.0/16", "usage", NULL);
    assert_code(fake, "deny", "usage", NULL);
    assert_code(fake, "deny all", "usage", NULL);
    assert_code(fake, "den add 10.2.0.0/16", "usage", "den");
    assert_code(fake, "denyy add 10.2.0.0/16", "usage", "denyy");
    assert_code(fake, "den", "usage", "den");
    assert_code(fake, "deny del 10.1.0.0/16 10.2.9.9/16", "unknown", "10.2.0.0/16");
    assert_code(fake, "deny del 10.1.0.0/16 acme", "range", "acme");
    assert_int_equal(fake->plane.denied->n, 1);
    assert_int_equal(fake->published, 1);
}

static void fill(struct deny_list *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct policy_network network = {address_from_v4(__builtin_bswap32(0x0a000000u + i)), 128};

        assert_int_equal(deny_put(list, &network, DENY_FOREVER), 1);
    }
}

static void the_list_has_an_end(void **state)
{
    struct fake *fake = *state;

    fill(fake->plane.denied, POLICY_DENIED_MAX - 1);
    assert_answer(
        fake, "deny add 10.0.0.1 11.0.0.1 11.0.0.2",
        "{'error':{'code':'range','message':'the list holds 65535 prefixes, 2 more do not "
        "fit','range':'at most 65536'}}");
    assert_int_equal(fake->plane.denied->n, POLICY_DENIED_MAX - 1);
    assert_answer(fake, "deny add 10.0.0.1 11.0.0.1",
                  "{'version':1,'added':1,'renewed':1," NONE
                  ",'entries':65536,'epoch':8," IN_FORCE);
    assert_answer(fake, "deny add 11.0.0.1",
                  "{'version':1,'added':0,'renewed':1," NONE
                  ",'entries':65536,'epoch':8," IN_FORCE);
}

static void a_long_list_comes_whole(void **state)
{
    struct fake *fake = *state;
    json_t *answer;

    fill(fake->plane.denied, 1000);
    answer = ask(fake, "deny list");
    assert_int_equal(json_array_size(json_object_get(answer, "denied")), 1000);
    assert_json(json_array_get(json_object_get(answer, "denied"), 999),
                "{'prefix':'10.0.3.231/32','expires_in':null}");
    json_decref(answer);
}

static void what_is_still_to_come_is_said(void **state)
{
    struct fake *fake = *state;

    fake->publish_error = -EBUSY;
    fake->save_error = -ENOSPC;
    assert_answer(fake, "deny add 10.1.0.0/16",
                  "{'version':1,'added':1,'renewed':0," NONE
                  ",'entries':1,'epoch':7,'pending':true,'unsaved':'No space left on device'}");
    fake->publish_error = 0;
    fake->save_error = -EEXIST;
    assert_answer(fake, "deny del 10.1.0.0/16",
                  "{'version':1,'deleted':1," NONE ",'entries':0,'epoch':8,'pending':false,"
                  "'unsaved':'its file could not be read at the start, move it away'}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(there_is_nobody_at_first, start, stop),
        cmocka_unit_test_setup_teardown(what_is_added_is_listed, start, stop),
        cmocka_unit_test_setup_teardown(host_bits_repetitions_and_renewals_are_said, start, stop),
        cmocka_unit_test_setup_teardown(mistakes_change_nothing, start, stop),
        cmocka_unit_test_setup_teardown(the_list_has_an_end, start, stop),
        cmocka_unit_test_setup_teardown(a_long_list_comes_whole, start, stop),
        cmocka_unit_test_setup_teardown(what_is_still_to_come_is_said, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
