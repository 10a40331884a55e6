/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config_text.h"

static void nothing_but_the_mandatory_gives_the_defaults(void **state)
{
    struct settings *s = config_text_accepted(CONFIG_GATES CONFIG_TENANTS, "");
    const struct eal_settings *eal = &s->dataplane.eal;
    const struct flow_timeouts *timeouts = &s->dataplane.timeouts;

    (void)state;
    assert_int_equal(eal->memory, MEMORY_AUTO);
    assert_int_equal(eal->memory_mib, 512);
    assert_int_equal(eal->main_cpu, 0);
    assert_int_equal(eal->n_workers, 1);
    assert_int_equal(eal->worker_cpus[0], 1);
    assert_int_equal(eal->idle, IDLE_POLL);
    assert_int_equal(eal->clock, CLOCK_TSC);
    assert_string_equal(eal->extra, "");
    assert_string_equal(s->control.socket, "/run/sluice/sluice.sock");
    assert_int_equal(s->control.period_ns, 50000000);
    assert_int_equal(s->dataplane.flows_max, 65536);
    assert_int_equal(timeouts->embryonic_ms, 3000);
    assert_int_equal(timeouts->tcp_idle_ms, 60000);
    assert_int_equal(timeouts->udp_idle_ms, 30000);
    assert_int_equal(timeouts->fin_ms, 2000);
    assert_int_equal(timeouts->linger_ms, 1000);
    assert_int_equal(timeouts->owed_max_ms, 300000);
    assert_int_equal(s->dataplane.waiting_max, 1024);
    assert_int_equal(s->dataplane.n_gates, 1);
    assert_int_equal(s->dataplane.gates[0].control.amount, 10000);
    assert_int_equal(s->dataplane.gates[0].control.burst, 1000);
    assert_int_equal(s->policy.n_tenants, 1);
    assert_int_equal(s->policy.n_services, 0);
    assert_int_equal(s->policy.n_prefixes, 0);
    assert_int_equal(s->policy.default_tenant, 0);
    assert_int_equal(s->policy.tenants[0].class, CLASS_NORMAL);
    assert_int_equal(s->policy.tenants[0].window, POLICY_WINDOW_MAX);
    assert_true(s->policy.tenants[0].attempts.unlimited);
    assert_true(s->policy.tenants[0].packets.unlimited);
    assert_true(s->policy.tenants[0].bits.unlimited);
    assert_int_equal(s->policy.tenants[0].milli_erlangs, POLICY_ERLANGS_UNLIMITED);
    config_free(s);
}

static const char described[] =
    "eal = { memory = \"none\"; memory_mib = 512; main = 2; workers = [3, 5, 1023]; idle = "
    "\"sleep\";\n"
    "        clock = \"packets\"; extra = \"--log-level=7\"; };\n"
    "control = { socket = \"/tmp/sluice.sock\"; period = \"1s\"; };\n"
    "gates = ( { name = \"front\"; outside = [\"net_af_packet0,iface=g0\"];\n"
    "            inside = [\"net_af_packet1,iface=g1\", \"0000:03:00.0\"]; control = \"50/s\"; } "
    ");\n"
    "flows = { max = 1024; embryonic = \"1ms\"; tcp_idle = \"24h\"; udp_idle = \"1.5s\";\n"
    "          fin = \"2s\"; linger = \"1min\"; owed_max = \"10min\"; };\n"
    "tenants = (\n"
    "  { name = \"default\"; class = \"bulk\"; quota = { attempts = \"unlimited\"; }; },\n"
    "  { name = \"acme\"; prefixes = [\"10.1.0.0/16\"]; class = \"critical\"; window = 5;\n"
    "    quota = { attempts = \"20/s\"; attempts_burst = 10; packets = \"50000/s\";\n"
    "              packets_burst = 1000; bits = \"200Mbit/s\"; bits_burst = \"256KiB\"; }; }\n"
    ");\n"
    "services = (\n"
    "  { name = \"web\"; addresses = [\"10.9.0.10\"]; protocol = \"tcp\";\n"
    "    ports = [\"80\", \"8000-8099\"]; tenant = \"acme\"; unit = \"connection\"; window = 64;\n"
    "    refuse = \"drop\"; refuse_rate = \"100/s\"; },\n"
    "  { name = \"dns\"; addresses = ( \"2001:db8::53\" ); protocol = \"udp\"; ports = (53); }\n"
    ");\n";

static void the_machine_is_read(void **state)
{
    struct settings *s = config_text_accepted(described, "");
    const struct eal_settings *eal = &s->dataplane.eal;
    const struct gate_settings *gate = &s->dataplane.gates[0];

    (void)state;
    assert_int_equal(eal->memory, MEMORY_NONE);
    assert_int_equal(eal->main_cpu, 2);
    assert_int_equal(eal->n_workers, 3);
    assert_int_equal(eal->worker_cpus[0], 3);
    assert_int_equal(eal->worker_cpus[1], 5);
    assert_int_equal(eal->worker_cpus[2], 1023);
    assert_int_equal(eal->idle, IDLE_SLEEP);
    assert_int_equal(eal->clock, CLOCK_PACKETS);
    assert_string_equal(eal->extra, "--log-level=7");
    assert_string_equal(s->control.socket, "/tmp/sluice.sock");
    assert_int_equal(s->control.period_ns, 1000000000);
    assert_string_equal(gate->name, "front");
    assert_int_equal(gate->outside.n_devices, 1);
    assert_string_equal(gate->outside.devices[0], "net_af_packet0,iface=g0");
    assert_int_equal(gate->inside.n_devices, 2);
    assert_string_equal(gate->inside.devices[1], "0000:03:00.0");
    assert_int_equal(gate->control.amount, 50);
    assert_int_equal(gate->control.burst, 100);
    assert_int_equal(s->dataplane.flows_max, 1024);
    assert_int_equal(s->dataplane.timeouts.embryonic_ms, 1);
    assert_int_equal(s->dataplane.timeouts.tcp_idle_ms, 86400000);
    assert_int_equal(s->dataplane.timeouts.udp_idle_ms, 1500);
    assert_int_equal(s->dataplane.timeouts.linger_ms, 60000);
    assert_int_equal(s->dataplane.timeouts.owed_max_ms, 600000);
    config_free(s);
}

/* Fine for a lab, so it is only said. */
static void cpus_may_be_shared(void **state)
{
    char text[512] = CONFIG_GATES CONFIG_TENANTS "\neal = { main = 1; workers = [0";
    struct settings *s;

    (void)state;
    for (int i = 1; i < 64; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ",%d", i == 63 ? 2 : i + 1);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "]; };");
    s = config_text_accepted(text, "front.conf:2: warning: eal: workers 1 and 63 share CPU 2, give "
                                   "each its own\n");
    assert_int_equal(s->dataplane.eal.n_workers, 64);
    config_free(s);
    s = config_text_accepted(
        CONFIG_GATES CONFIG_TENANTS "\neal = { main = 0; workers = [0, 1, 0, 0]; };",
        "front.conf:2: warning: eal: main and worker 0 share CPU 0, give each its own\n"
        "front.conf:2: warning: eal: main and worker 2 share CPU 0, give each its own\n"
        "front.conf:2: warning: eal: workers 0 and 2 share CPU 0, give each its own\n"
        "front.conf:2: warning: eal: main and worker 3 share CPU 0, give each its own\n"
        "front.conf:2: warning: eal: workers 0 and 3 share CPU 0, give each its own\n");
    config_free(s);
}

static void the_policy_is_read(void **state)
{
    struct settings *s = config_text_accepted(described, "");
    const struct policy_tenant *acme = &s->policy.tenants[1];
    const struct policy_service *web = &s->policy.services[0], *dns = &s->policy.services[1];
    struct policy *policy;

    (void)state;
    assert_int_equal(s->policy.n_tenants, 2);
    assert_string_equal(acme->name, "acme");
    assert_int_equal(acme->id, 1);
    assert_int_equal(acme->class, CLASS_CRITICAL);
    assert_int_equal(acme->window, 5);
    assert_int_equal(acme->attempts.amount, 20);
    assert_int_equal(acme->attempts.burst, 10);
    assert_false(acme->attempts.unlimited);
    assert_int_equal(acme->packets.amount, 50000);
    assert_int_equal(acme->packets.burst, 1000);
    assert_int_equal(acme->bits.amount, 200000000);
    assert_int_equal(acme->bits.burst, 262144);
    assert_int_equal(s->policy.n_prefixes, 1);
    assert_int_equal(s->policy.prefixes[0].tenant, 1);
    assert_int_equal(s->policy.prefixes[0].bits, 112);
    assert_int_equal(s->policy.n_services, 2);
    assert_string_equal(web->name, "web");
    assert_int_equal(web->protocol, PROTOCOL_TCP);
    assert_int_equal(web->unit, UNIT_CONNECTION);
    assert_int_equal(web->refusal, REFUSAL_DROP);
    assert_int_equal(web->tenant, 1);
    assert_int_equal(web->window, 64);
    assert_int_equal(web->n_ports, 2);
    assert_int_equal(web->ports[1].first, 8000);
    assert_int_equal(web->ports[1].last, 8099);
    assert_int_equal(web->refuse_rate.amount, 100);
    assert_int_equal(web->refuse_rate.burst, 10);
    assert_int_equal(dns->id, 1);
    assert_int_equal(dns->protocol, PROTOCOL_UDP);
    assert_int_equal(dns->unit, UNIT_DATAGRAM);
    assert_int_equal(dns->refusal, REFUSAL_DROP);
    assert_int_equal(dns->tenant, POLICY_NONE);
    assert_int_equal(dns->window, POLICY_WINDOW_MAX);
    assert_int_equal(dns->addresses[0].bytes[0], 0x20);
    assert_int_equal(dns->addresses[0].bytes[15], 0x53);
    assert_int_equal(dns->refuse_rate.amount, 100000);
    assert_int_equal(policy_create(&s->policy, &policy), 0);
    assert_int_equal(policy_find_service(policy, &web->addresses[0], PROTOCOL_TCP, 8050), 0);
    policy_free(policy);
    config_free(s);
}

static void the_example_is_accepted(void **state)
{
    struct settings *s;

    (void)state;
    assert_int_equal(config_load(SLUICE_EXAMPLE, NULL, stderr, &s), 0);
    assert_int_equal(s->policy.n_tenants, 2);
    assert_int_equal(s->policy.n_services, 1);
    assert_int_equal(s->policy.tenants[1].attempts.amount, 200);
    config_free(s);
}

static void assert_same_overload(const struct policy_service *a, const struct policy_service *b)
{
    assert_int_equal(a->connections, b->connections);
    assert_int_equal(a->capacity.unlimited, b->capacity.unlimited);
    assert_true(a->deadline_ns == b->deadline_ns);
    assert_int_equal(a->wait.places, b->wait.places);
    assert_true(a->wait.age_ns == b->wait.age_ns);
    assert_int_equal(a->wait.order, b->wait.order);
    assert_int_equal(a->shed.ceiling_ppm, b->shed.ceiling_ppm);
    assert_true(a->shed.reserve.amount == b->shed.reserve.amount);
}

/* The settings in comments show the defaults: with their # removed, nothing changes. */
static void the_example_shows_the_defaults(void **state)
{
    static char text[16384], line[512];
    FILE *file = fopen(SLUICE_EXAMPLE, "r");
    struct settings *s, *shipped;
    size_t used = 0;
    int uncovered = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char *start = line + strspn(line, " ");

        if (start > line && start[0] == '#') {
            start[0] = ' ';
            uncovered++;
        }
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", line);
        assert_true(used < sizeof(text));
    }
    fclose(file);
    assert_int_equal(uncovered, 30);
    s = config_text_accepted(text, "");
    assert_int_equal(config_load(SLUICE_EXAMPLE, NULL, stderr, &shipped), 0);
    assert_string_equal(s->control.socket, "/run/sluice/sluice.sock");
    assert_int_equal(s->control.period_ns, 50000000);
    assert_string_equal(s->control.deny, shipped->control.deny);
    assert_string_equal(s->control.pins, shipped->control.pins);
    assert_memory_equal(&s->dataplane.gates[0].xdp, &shipped->dataplane.gates[0].xdp,
                        sizeof(s->dataplane.gates[0].xdp));
    assert_int_equal(s->policy.services[0].closed_in_standby, false);
    assert_int_equal(s->dataplane.gates[0].control.amount, 10000);
    assert_int_equal(s->dataplane.flows_max, 65536);
    assert_int_equal(s->dataplane.timeouts.linger_ms, 1000);
    assert_int_equal(s->dataplane.eal.clock, CLOCK_TSC);
    assert_int_equal(s->policy.services[0].refusal, REFUSAL_RST);
    assert_int_equal(s->policy.services[0].refuse_rate.amount, 100000);
    assert_int_equal(s->dataplane.timeouts.owed_max_ms, 300000);
    assert_true(s->policy.tenants[1].milli_erlangs == POLICY_ERLANGS_UNLIMITED);
    assert_same_overload(&s->policy.services[0], &shipped->policy.services[0]);
    config_free(shipped);
    config_free(s);
}

static void bursts_have_sensible_defaults(void **state)
{
    struct settings *s = config_text_accepted(
        CONFIG_GATES
        "tenants = ("
        "{ name = \"default\"; quota = { attempts = \"200/s\"; packets = \"50000/s\";"
        "  bits = \"1Gbit/s\"; }; },"
        "{ name = \"small\"; quota = { attempts = \"5/day\"; packets = \"100/s\";"
        "  bits = \"1Mbit/s\"; }; },"
        "{ name = \"blocked\"; quota = { attempts = 0; packets = \"0\"; bits = 0; }; });",
        "");
    const struct policy_tenant *t = s->policy.tenants;

    (void)state;
    assert_int_equal(t[0].attempts.burst, 20);
    assert_int_equal(t[0].packets.burst, 5000);
    assert_int_equal(t[0].bits.burst, 12500000);
    assert_int_equal(t[1].attempts.burst, 1);
    assert_int_equal(t[1].attempts.period_s, 86400);
    assert_int_equal(t[1].packets.burst, 32);
    assert_int_equal(t[1].bits.burst, 65536);
    assert_int_equal(t[2].attempts.amount + t[2].packets.amount + t[2].bits.amount, 0);
    assert_int_equal(t[2].attempts.burst, 0);
    assert_false(t[2].attempts.unlimited || t[2].packets.unlimited || t[2].bits.unlimited);
    config_free(s);
}

static void refused_file(const char *path, int wanted, const char *says)
{
    struct settings *s = (struct settings *)1;
    char *report;
    size_t size;
    FILE *stream = open_memstream(&report, &size);

    assert_int_equal(config_load(path, NULL, stream, &s), wanted);
    fclose(stream);
    assert_string_equal(report, says);
    assert_null(s);
    free(report);
}

static void files_that_cannot_be_read(void **state)
{
    FILE *file = fopen("big.conf", "w");

    (void)state;
    refused_file("none.conf", -ENOENT, "none.conf: cannot be read: No such file or directory\n");
    refused_file("/tmp", -EISDIR, "/tmp: cannot be read: Is a directory\n");
    refused_file("/dev/null", -EINVAL, "/dev/null: not a regular file\n");
    assert_int_equal(ftruncate(fileno(file), CONFIG_FILE_MAX_BYTES + 1), 0);
    fclose(file);
    refused_file("big.conf", -EFBIG, "big.conf: larger than 16777216 bytes\n");
    assert_int_equal(truncate("big.conf", 3), 0);
    refused_file("big.conf", -EINVAL, "big.conf:1: this is no text: it holds a zero byte\n");
    unlink("big.conf");
    assert_int_equal(mkfifo("pipe.conf", 0600), 0);
    refused_file("pipe.conf", -EINVAL, "pipe.conf: not a regular file\n");
    unlink("pipe.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_but_the_mandatory_gives_the_defaults),
        cmocka_unit_test(the_machine_is_read),
        cmocka_unit_test(cpus_may_be_shared),
        cmocka_unit_test(the_policy_is_read),
        cmocka_unit_test(the_example_is_accepted),
        cmocka_unit_test(the_example_shows_the_defaults),
        cmocka_unit_test(bursts_have_sensible_defaults),
        cmocka_unit_test(files_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, config_text_setup, config_text_teardown);
}
