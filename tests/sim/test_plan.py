# SPDX-License-Identifier: BSD-3-Clause
"""sluice-sim plan: its numbers, their formulas, and that sluiced takes what it prints."""

import json
import os
import subprocess

import pytest

SLUICE_SIM = os.environ["SLUICE_SIM"]
SLUICED = os.environ["SLUICED"]

# Four slots that do 170/s, 130/s offered, and 200/s for 10 s.
FOUR_SLOTS = ["--capacity", "170/s", "--slots", "4", "--rate", "130/s", "--burst", "200/s for 10s"]


def sluice_sim(*arguments):
    return subprocess.run([SLUICE_SIM, *arguments], capture_output=True, text=True, timeout=60)


def plan(*options):
    """The plan as JSON."""
    result = sluice_sim("plan", "-j", *options)
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


def values(*options):
    return plan(*options)["values"]


def refused(*options):
    """What is said of a plan that cannot be."""
    result = sluice_sim("plan", *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("sluice-sim plan: ") and result.stderr.endswith("\n")
    return result.stderr[len("sluice-sim plan: "):-1]


# -- what the numbers are --


def test_a_burst_on_four_slots():
    v = values(*FOUR_SLOTS)
    assert v["service_ms"] == pytest.approx(4000 / 170, rel=1e-12)
    assert v["utilisation"] == pytest.approx(130 / 170, rel=1e-12)
    assert v["headroom_per_s"] == 40
    assert (v["window"], v["places"], v["age_ms"]) == (4, 16, 100)
    assert v["last_wait_ms"] == pytest.approx(16000 / 170, rel=1e-12)
    assert v["burst_queue_unbounded"] == 300
    assert v["burst_wait_unbounded_ms"] == pytest.approx(300000 / 170, rel=1e-12)
    assert v["burst_drain_unbounded_s"] == 7.5
    assert (v["burst_queue"], v["burst_refused"]) == (16, 284)
    assert v["burst_wait_ms"] == pytest.approx(16000 / 170, rel=1e-12)
    assert v["burst_drain_s"] == 0.4
    # All 300 may still come again in 10 s, 30 of those that were refused in 1 s.
    assert v["retry_after_s"] == 8
    assert values(*FOUR_SLOTS, "--deadline", "1s")["retry_after_s"] == 2


def test_a_longer_age_takes_more():
    v = values(*FOUR_SLOTS, "--wait", "236ms")
    assert (v["places"], v["burst_refused"]) == (40, 260)
    assert v["burst_drain_s"] == 1
    # By recovery: 40 x 0.25.
    v = values(*FOUR_SLOTS, "--wait", "236ms", "--recover", "250ms")
    assert (v["places"], v["burst_refused"], v["burst_drain_s"]) == (10, 290, 0.25)


def test_what_waits_must_still_be_in_time():
    v = values(*FOUR_SLOTS, "--deadline", "74ms")
    assert v["age_ms"] == 50  # of 50.47
    assert v["places"] == 8   # 8.5: the ninth waits 52.9 ms
    # The round trip of a connection is the client's, before its request.
    assert values(*FOUR_SLOTS, "--deadline", "94ms", "--rtt", "20ms")["age_ms"] == 50
    assert values(*FOUR_SLOTS, "--deadline", "94ms", "--rtt", "20ms", "--unit",
                  "exchange")["age_ms"] == 70


def test_any_two_of_capacity_service_and_slots():
    v = values("--slots", "4", "--service", "20ms")
    assert (v["capacity_per_s"], v["window"]) == (170, 4)
    for half in ".5", "0.5", "50%":
        assert values("--slots", "4", "--service", "20ms", "--utilisation", half)["capacity_per_s"] == 100
    assert values("--capacity", "170/s", "--service", "23.5ms")["slots"] == 4
    assert values("--capacity", "170/s", "--service", "23.6ms")["slots"] == 5
    # To three digits they may differ.
    v = values("--capacity", "170/s", "--service", "23.55ms", "--slots", "4")
    assert (v["capacity_per_s"], v["service_ms"], v["slots"]) == (170, 23.55, 4)
    assert v["window"] == 5


def test_a_window_has_all_the_slots_that_were_stated():
    """By Little seven would do: 170 x .04 = 6.8. The eighth slot would be idle for ever."""
    p = plan("--service", "40ms", "--slots", "8", "--rate", "150/s")
    v = p["values"]
    assert (v["capacity_per_s"], v["window"]) == (170, 8)
    assert p["formulas"]["window"] == ("max(slots, capacity x service) = max(8, 170 x 0.04), "
                                       "rounded up (Little)")
    assert "window = 8; " in p["service"]
    assert p["formulas"]["window_refused"] == ("without a queue: B(rate x held, window) = "
                                               "B(6, 8) (Erlang)")
    assert p["formulas"]["refused"] == "at the rate, with the queue: M/M/8/24"
    p = plan("--service", "40ms", "--slots", "8", "--rtt", "10ms")
    assert p["values"]["window"] == 11  # 170 x .06 = 10.2
    # Nor may the eight at 170/s, 47 ms, exceed what is promised. 170 x .042 = 7.14.
    tight = plan("--service", "40ms", "--slots", "8", "--deadline", "42ms", "--unit", "exchange")
    assert tight["values"]["window"] == 7
    assert tight["formulas"]["window"] == ("max(capacity x deadline rounded down, capacity x service) "
                                           "= max(7, 170 x 0.04), rounded up (Little)")
    assert values("--service", "40ms", "--slots", "8", "--deadline", "48ms", "--unit",
                  "exchange")["window"] == 8
    assert p["formulas"]["window"].startswith("max(slots, capacity x (service + 2 round trips)) = "
                                              "max(8, 170 x (0.04 + 2 x 0.01)), ")


def test_a_window_counts_round_trips_of_connections():
    connection = ["--capacity", "170/s", "--slots", "4", "--rtt", "20ms"]
    assert values(*connection)["window"] == 11  # 170 x (.0235 + .04) = 10.8
    assert values(*connection, "--unit", "exchange")["window"] == 4
    assert values(*connection, "--unit", "datagram")["window"] == 4


def test_erlang_b():
    v = values("--capacity", "3888/h", "--slots", "270", "--rate", "1/s")
    assert v["service_ms"] == pytest.approx(250000, rel=1e-12)
    assert v["window"] == 270
    assert v["window_refused"] == pytest.approx(.0123490339395302, rel=1e-9)
    assert v["lines"] == 273
    more = ["--capacity", "36936/h", "--slots", "2565", "--rate"]
    assert values(*more, "10/s")["window_refused"] == pytest.approx(.00376792183426711, rel=1e-9)
    assert values(*more, "10/s")["lines"] == 2526
    assert values(*more, "5/s")["lines"] == 1280
    assert values(*more, "5/s", "--block", "0.5%")["lines"] > 1280


def test_waits():
    """rho / (1 - rho); Kingman; M/M/4 and M/M/4/20."""
    one = ["--service", "10ms", "--slots", "1", "--capacity", "100/s", "--rate"]
    assert values(*one, "90/s")["wait_mean_ms"] == pytest.approx(90, rel=1e-12)
    assert values(*one, "95/s")["wait_mean_ms"] == pytest.approx(190, rel=1e-12)
    assert values(*one, "99/s")["wait_mean_ms"] == pytest.approx(990, rel=1e-11)
    assert values(*one, "90/s", "--spread", "2")["wait_mean_ms"] == pytest.approx(225, rel=1e-12)
    assert values(*one, "90/s", "--spread", "0")["wait_mean_ms"] == pytest.approx(45, rel=1e-12)
    v = values(*FOUR_SLOTS)
    assert v["wait_mean_ms"] == pytest.approx(13.3597775319424, rel=1e-12)
    assert v["refused"] == pytest.approx(.00172907914127691, rel=1e-9)
    assert v["refused_wait_mean_ms"] == pytest.approx(12.5812605780608, rel=1e-9)


def test_instances():
    slots = ["--slots", "4", "--service", "20ms", "--rate", "1300/s"]
    v = values(*slots, "--burst", "1690/s for 1min")
    assert v["target_utilisation"] == pytest.approx(.85 / 1.3, rel=1e-12)
    assert v["instances"] == 10
    assert values(*slots)["instances"] == 10  # 1.3 unless a burst is stated
    assert values(*slots, "--burst", "1701/s for 1min")["instances"] == 11
    assert values(*slots, "--burst", "1530/s for 1min")["instances"] == 9


def test_idle_timeouts_fit_the_window():
    v = values("--capacity", "170/s", "--service", "400ms")
    assert (v["window"], v["tcp_idle_ms"]) == (68, 2000)
    assert v["leaked_slots"] == pytest.approx(3.4, rel=1e-12)
    assert values("--capacity", "170/s", "--service", "400ms", "--lost-fins",
                  "0.1%")["tcp_idle_ms"] == 20000
    assert values("--capacity", "170/s", "--service", "400ms", "--lost-fins", "0")[
        "tcp_idle_ms"] == 60000
    v = plan("--capacity", "170/s", "--slots", "4")
    assert v["values"]["tcp_idle_ms"] == 1000
    assert v["formulas"]["leaked_slots"].endswith("too many for this window, the unit exchange "
                                                  "loses none")
    assert "tcp_idle_ms" not in values("--capacity", "170/s", "--slots", "4", "--unit", "exchange")
    v = values("--capacity", "170/s", "--slots", "4", "--unit", "datagram")
    assert v["udp_idle_ms"] == 1000


def test_what_is_not_stable_is_said_so():
    """And nothing is divided by zero."""
    for rate in "170/s", "200/s":
        p = plan("--capacity", "170/s", "--slots", "4", "--rate", rate, "--burst", "340/s for 1s")
        v = p["values"]
        assert "not stable" in p["formulas"]["headroom_per_s"]
        assert (v["wait_mean_ms"], v["burst_drain_s"], v["burst_drain_unbounded_s"]) == (None,) * 3
        assert p["formulas"]["burst_drain_s"] == "never, for there is no headroom"
        assert v["places"] == 16
        assert v["burst_refused"] == 154
    table = sluice_sim("plan", "--capacity", "170/s", "--slots", "4", "--rate", "170/s").stdout
    assert "inf" not in table and "nan" not in table
    # Nothing waits in a burst that the capacity bears.
    v = values("--capacity", "170/s", "--slots", "4", "--rate", "130/s", "--burst", "150/s for 9s")
    assert (v["burst_queue_unbounded"], v["burst_queue"], v["burst_refused"]) == (0, 0, 0)


# -- how it is told --


def test_the_table_shows_every_formula_with_its_numbers():
    result = sluice_sim("plan", *FOUR_SLOTS, "--deadline", "1s")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "value", "formula"]
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in lines[1:lines.index("")]}
    assert rows["places"] == ["16", "min(capacity x age, headroom x recovery) = "
                              "min(170 x 0.1, 40 x 1) = 17 -> 16: the 17th would wait 100 ms and more"]
    assert rows["window"] == ["4", "max(slots, capacity x service) = max(4, 170 x 0.0235294), "
                              "rounded up (Little)"]
    assert rows["burst_drain_s"] == ["0.4", "queue / headroom = 16 / 40"]
    assert rows["retry_after_s"] == ["2", "(places + refused that still want it) / max(headroom, "
                                     "capacity / 10) = (16 + 30) / max(40, 17), rounded up"]
    p = plan(*FOUR_SLOTS, "--deadline", "1s")
    assert list(rows) == list(p["values"]) == list(p["formulas"])
    assert {name: row[1] for name, row in rows.items()} == p["formulas"]
    assert p["flows"] in result.stdout and p["service"] in result.stdout


def test_ordinals():
    for wait, ordinal in ("6.5ms", "2nd"), ("12.5ms", "3rd"), ("60ms", "11th"), ("122ms", "21st"):
        formula = plan("--capacity", "170/s", "--slots", "4", "--wait", wait)["formulas"]["places"]
        assert f"the {ordinal} would wait" in formula, formula


@pytest.mark.parametrize("options, complaint", [
    ([], "say two of --capacity, --service and --slots"),
    (["--capacity", "170/s"], "say two of --capacity, --service and --slots"),
    (["--capacity", "170/s", "--slots", "4", "--service", "30ms"],
     "--capacity: 4 slots of 30 ms do at most 133.333/s"),
    (["--rate", "130"],
     '--rate: "130" has no period, such as /s (1..1000000000 per s, min, h or day)'),
    (["--rate", "1.5/s"],
     '--rate: "1.5/s" is no whole number in its period (1..1000000000 per s, min, h or day)'),
    (["--capacity", "0"], '--capacity: "0" is out of range (1..1000000000 per s, min, h or day)'),
    (["--capacity", "unlimited"],
     '--capacity: "unlimited" is out of range (1..1000000000 per s, min, h or day)'),
    (["--service", "2h"], '--service: "2h" is out of range (1us..1h)'),
    (["--deadline", "5"], '--deadline: "5" has no unit, such as ms or s (1ms..10min, or none)'),
    (["--service", "none"], '--service: "none" is no duration (1us..1h)'),
    (["--wait", "1ns"], '--wait: "1ns" is no duration (1ms..10s in whole us)'),
    (["--slots", "0"], '--slots: "0" is no number of slots (1..16777216)'),
    (["--slots", "16777217"], '--slots: "16777217" is no number of slots (1..16777216)'),
    (["--block", "0"], '--block: "0" is out of range (0.01%..50%)'),
    (["--lost-fins", "51%"], '--lost-fins: "51%" is out of range (0..50%)'),
    (["--lost-fins", "%"], '--lost-fins: "%" is no share (0..50%)'),
    (["--utilisation", "1.01"], '--utilisation: "1.01" is out of range (0.01..1)'),
    (["--spread", "101"], '--spread: "101" is no spread (0..100, to three decimals)'),
    (["--unit", "packet"], '--unit: "packet" is no unit (connection, exchange or datagram)'),
    (["--burst", "200/s"], '--burst: "200/s" is no burst (such as "200/s for 10s")'),
    (["--burst", "200/s for 10"],
     '--burst: "10" has no unit, such as ms or s (1ms..24h)'),
    (["--capacity", "170/s", "--slots", "4", "--burst", "200/s for 1s"],
     "--burst: say also the --rate before and after it"),
    (["--capacity", "170/s", "--slots", "4", "--deadline", "24ms"],
     "--deadline: 24 ms leave no millisecond to wait beside 23.5294 ms of service and 0 ms of "
     "round trip"),
    (["--capacity", "170/s", "--slots", "4", "--critical", "170/s"],
     "--critical: 170/s leave nothing of 170/s"),
    (["--capacity", "1000000000/s", "--service", "1s"],
     "1000000000 slots are needed, at most 16777216 are possible"),
    (["--slots", "16777216", "--service", "1us"],
     "a capacity of 1.42606e+13/s cannot be configured (1/day..1000000000/s)"),
    (["--capacity", "16777216/s", "--service", "1s", "--rtt", "1us"],
     "a window of 16777250 is needed, at most 16777216 are possible"),
    (["--capacity", "170/s", "--slots", "4", "--rate", "1000000000/s"],
     "--rate: keeps 23529412 slots busy, at most 16777216 are possible"),
    (["--frobnicate"], "--frobnicate is no option (see --help)"),
    (["--rate"], "--rate needs a value (see --help)"),
    (["170/s"], "170/s is no option (see --help)"),
])
def test_mistakes_are_named(options, complaint):
    assert refused(*options) == complaint


def test_usage():
    result = sluice_sim("plan", "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: sluice-sim plan OPTION...\n")
    assert sluice_sim("--help").returncode == 0
    for arguments, complaint in [([], "Usage: sluice-sim "),
                                 (["frobnicate"], "sluice-sim: frobnicate is no verb")]:
        result = sluice_sim(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(complaint)


# -- the configuration --


def check(tmp_path, flows, service):
    """What sluiced says of a file with what was planned in it, without the last line: it is good."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU: a configuration that shares it is warned of")
    file = tmp_path / "planned.conf"
    file.write_text(
        f"eal = {{ main = {cpus[0]}; workers = [{cpus[1]}]; }};\n"
        'gates = ( { name = "g"; outside = ["net_null0"]; inside = ["net_null1"]; } );\n'
        'tenants = ( { name = "default"; } );\n'
        f"{flows or ''}services = (\n{service});\n")
    result = subprocess.run([SLUICED, "--check", file], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{file}: good\n"
    return result.stderr


PLANS = [
    FOUR_SLOTS,
    [*FOUR_SLOTS, "--deadline", "1s", "--critical", "20/s"],
    [*FOUR_SLOTS, "--unit", "exchange", "--deadline", "74ms"],
    [*FOUR_SLOTS, "--rtt", "50ms", "--deadline", "10min", "--wait", "10s", "--recover", "24h"],
    ["--capacity", "1/s", "--service", "1500us", "--unit", "datagram", "--deadline", "100ms"],
    ["--capacity", "7/day", "--slots", "2", "--unit", "exchange"],
    ["--capacity", "100/s", "--slots", "4", "--service", "20ms", "--unit", "exchange", "--deadline", "25ms"],
    ["--slots", "3", "--service", "7ms", "--unit", "datagram"],
    ["--slots", "3", "--service", "70s", "--rate", "1/min"],
    ["--slots", "3", "--service", "7ms", "--rate", "1000/s", "--critical", "9000/h"],
    ["--capacity", "1000000000/s", "--service", "16ms", "--wait", "1ms"],
    ["--capacity", "100000/s", "--service", "9s", "--unit", "exchange", "--deadline", "10s"],
    # The window is as deep as 2 ms in 17 s allow.
    ["--slots", "20000", "--service", "16984700us", "--unit", "exchange", "--deadline", "16987ms"],
]


@pytest.mark.parametrize("options", PLANS, ids=" ".join)
def test_sluiced_takes_what_is_planned(tmp_path, options):
    p = plan(*options)
    assert check(tmp_path, p["flows"], p["service"]) == ""
    assert f"window = {p['values']['window']};" in p["service"]
    assert f"places = {p['values']['places']};" in p["service"]


def test_the_configuration_says_what_was_planned():
    p = plan(*FOUR_SLOTS, "--deadline", "1s", "--critical", "9000/h")
    assert p["flows"] == 'flows = { tcp_idle = "1s"; };\n'
    assert p["service"] == (
        '{ name = "planned"; addresses = ["192.0.2.1"]; protocol = "tcp"; ports = ["80"];\n'
        '  unit = "connection"; window = 4; capacity = "170/s"; deadline = "1s";\n'
        '  wait = { places = 16; age = "100ms"; order = "fifo"; };\n'
        '  shed = { ceiling = 0.98; reserve = "150/min"; }; }\n')
    assert plan("--capacity", "7/day", "--slots", "2", "--unit", "exchange")["flows"] is None
    assert 'capacity = "7/day"; deadline' not in plan("--capacity", "7/day", "--slots",
                                                      "2")["service"]
    assert 'age = "1500us"' in plan(*FOUR_SLOTS, "--wait", "1.5ms")["service"]
    # Never more than what can be done, 364.2857.../s, and little less.
    assert 'capacity = "31474285/day"' in plan("--slots", "3", "--service", "7ms")["service"]
    assert 'capacity = "72857142/h"' in plan("--slots", "1000", "--service", "42ms")["service"]


@pytest.mark.parametrize("stated, printed", [
    ("74070/min", "74070/min"), ("60/min", "1/s"), ("3600/h", "1/s"), ("7200/day", "5/min"),
    ("86401/day", "86401/day"), ("999999999/day", "999999999/day"), ("999999999/h", "999999999/h"),
    ("999999999/s", "999999999/s")])
def test_a_stated_capacity_is_printed_as_it_is(stated, printed):
    service = plan("--capacity", stated, "--service", "10ms")["service"]
    assert f'capacity = "{printed}"' in service


def test_the_warning_that_the_plan_avoids(tmp_path):
    p = plan(*FOUR_SLOTS)
    assert "services[0].window: assuming that 1 % of the clients vanish" in check(
        tmp_path, None, p["service"])
