/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings of sizes that contradict each other; each beside the nearest that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/config_text.h"

#define SERVICE(protocol, unit, keys)                                                              \
    CONFIG_GATES CONFIG_TENANTS                                                                    \
        "services = ({ name = \"web\"; addresses = [\"10.9.0.10\"]; protocol = \"" protocol        \
        "\"; ports = [80]; unit = \"" unit "\";\n" keys " });"
#define EXCHANGE(keys)   SERVICE("tcp", "exchange", keys)
#define CONNECTION(keys) SERVICE("tcp", "connection", keys)
#define DATAGRAM(keys)   SERVICE("udp", "datagram", keys)

static void warned(const char *text, const char *report)
{
    config_free(config_text_accepted(text, report));
}

static void the_last_place_is_in_time(void **state)
{
    (void)state;
    warned(
        EXCHANGE("window = 4; capacity = \"170/s\"; deadline = \"1s\"; wait = { places = 171; };"),
        "front.conf:2: warning: services[0].wait.places: at the capacity the turn of the last of "
        "171 comes after 1.006s, past the deadline of 1s: 16 are enough\n");
    warned(
        EXCHANGE("window = 4; capacity = \"170/s\"; deadline = \"1s\"; wait = { places = 170; };"),
        "");
    warned(EXCHANGE("window = 4; capacity = \"170/s\"; wait = { places = 171; };"), "");
    warned(EXCHANGE("window = 4; deadline = \"1s\"; wait = { places = 171; };"), "");
    /* Where the deadline comes before the age; a rate by the minute. */
    warned(EXCHANGE("window = 4; capacity = \"600/min\"; deadline = \"500ms\";\nwait = { places = "
                    "9; age = \"600ms\"; };"),
           "front.conf:3: warning: services[0].wait.age: who waits so long is past the "
           "deadline\nfront.conf:3: warning: services[0].wait.places: at the capacity the turn of "
           "the last of 9 comes after 900ms, past the deadline of 500ms: 4 are enough\n");
}

static void a_full_window_is_in_time(void **state)
{
    (void)state;
    warned(EXCHANGE("window = 171; capacity = \"170/s\"; deadline = \"1s\";"),
           "front.conf:2: warning: services[0].window: 171 in flight at the capacity take 1.006s "
           "each, longer than the deadline of 1s\n");
    warned(EXCHANGE("window = 170; capacity = \"170/s\"; deadline = \"1s\";"), "");
    warned(DATAGRAM("window = 100; capacity = \"2/s\"; deadline = \"20s\";") "flows = { udp_idle = "
                                                                             "\"1s\"; };",
           "front.conf:2: warning: services[0].window: 100 in flight at the capacity take 50s "
           "each, longer than the deadline of 20s\n");
    warned(EXCHANGE("window = 40; capacity = \"170/s\"; deadline = \"1s\";\nbreaker = { response = "
                    "\"200ms\"; };"),
           "front.conf:2: warning: services[0].window: 40 in flight at the capacity take 235.3ms "
           "each, longer than the breaker.response of 200ms\n");
    warned(EXCHANGE("window = 200; capacity = \"170/s\"; breaker = { failures = 3; };"),
           "front.conf:2: warning: services[0].window: 200 in flight at the capacity take 1.176s "
           "each, longer than the breaker.response of 1s\n");
    /* A slot is the least there is. */
    warned(EXCHANGE("window = 1; capacity = \"1/s\"; deadline = \"100ms\";"), "");
    /* No breaker, no limit; and a connection may be open for more than one reply. */
    warned(EXCHANGE("window = 200; capacity = \"170/s\";"), "");
    warned(CONNECTION("window = 200000; capacity = \"170/s\"; deadline = \"1s\";"), "");
}

static void a_window_gives_the_capacity_through_every_silence(void **state)
{
    (void)state;
    warned(EXCHANGE("window = 8; capacity = \"170/s\"; silence = \"50ms\";"),
           "front.conf:2: warning: services[0].window: 8 slots do not give the capacity: clients "
           "that pause after a reply hold a slot for the silence of 50ms, 9 slots in all\n");
    warned(EXCHANGE("window = 9; capacity = \"170/s\"; silence = \"50ms\";"), "");
    warned(EXCHANGE("window = 8; capacity = \"160/s\"; silence = \"50ms\";"), "");
    /* Nothing says that connections stay open. */
    warned(EXCHANGE("window = 4; capacity = \"170/s\";"), "");
}

static void lost_ends_do_not_fill_the_window(void **state)
{
    (void)state;
    warned(CONNECTION("window = 64; capacity = \"170/s\";"),
           "front.conf:2: warning: services[0].window: assuming that 1 % of the clients vanish "
           "without a FIN, at the capacity flows.tcp_idle of 60s holds 102 slots for nobody, more "
           "than 5 % of 64: at most 1.882s, or unit exchange\n");
    warned(CONNECTION("window = 64; capacity = \"170/s\";") "flows = { tcp_idle = \"1882ms\"; };",
           "");
    warned(CONNECTION("window = 64; capacity = \"170/s\";") "flows = { tcp_idle = \"1883ms\"; };",
           "front.conf:2: warning: services[0].window: assuming that 1 % of the clients vanish "
           "without a FIN, at the capacity flows.tcp_idle of 1.883s holds 3.2 slots for nobody, "
           "more than 5 % of 64: at most 1.882s, or unit exchange\n");
    warned(DATAGRAM("window = 50; capacity = \"20/s\";"),
           "front.conf:2: warning: services[0].window: assuming that 1 % of the datagrams get no "
           "reply, at the capacity flows.udp_idle of 30s holds 6 slots for nobody, more than 5 % "
           "of 50: at most 12.5s\n");
    warned(DATAGRAM("window = 50; capacity = \"20/s\";") "flows = { udp_idle = \"12500ms\"; };",
           "");
    warned(EXCHANGE("window = 64; capacity = \"170/s\";"), "");
    warned(CONNECTION("window = 2040; capacity = \"170/s\";"), "");
    warned(CONNECTION("window = 64;"), "");
    warned(CONNECTION("window = 0; capacity = \"170/s\";"), "");
    warned(CONNECTION("window = \"unlimited\"; capacity = \"1000000000/s\";"), "");
    warned(CONNECTION("capacity = \"170/s\";"), "");
}

/* A second is not too long, however small the window. */
static void idle_timeouts_are_not_to_be_too_short(void **state)
{
    (void)state;
    warned("flows = { tcp_idle = \"1s\"; };" CONNECTION("window = 4; capacity = \"170/s\";"), "");
    warned("flows = { tcp_idle = \"1001ms\"; };" CONNECTION("window = 4; capacity = \"170/s\";"),
           "front.conf:2: warning: services[0].window: assuming that 1 % of the clients vanish "
           "without a FIN, at the capacity flows.tcp_idle of 1.001s holds 1.7 slots for nobody, "
           "more than 5 % of 4: at most 1s, or unit exchange\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_place_is_in_time),
        cmocka_unit_test(a_full_window_is_in_time),
        cmocka_unit_test(a_window_gives_the_capacity_through_every_silence),
        cmocka_unit_test(lost_ends_do_not_fill_the_window),
        cmocka_unit_test(idle_timeouts_are_not_to_be_too_short),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
