# SPDX-License-Identifier: BSD-3-Clause
"""
A service of 4 slots and 170 requests/s behind a window of five exchanges, with all of overload
control: from one to ten times its capacity, important beside unimportant work, stopped, and slow.
"""

import time

import overload
import wire
from lab import until

SECONDS = 10
WINDOW = 5
CAPACITY = overload.CAPACITY_PER_S
BROKEN_MAX = 0.01  # of admitted work: late, or never finished
OPEN_S, RAMP_S = 1, 5  # of the breaker; OPEN_S doubles with every failed probe


def check_promises(result, useful_min):
    """Useful replies as a share of what can be had, and of what was admitted only few late."""
    series = result["series"]
    possible = sum(min(row["offered"], CAPACITY) for row in series)
    admitted = result["useful"] + result["late"] + result["unfinished"]
    assert result["useful"] >= useful_min * possible, (result["useful"], possible)
    assert result["eff_p99_ms"] < 1000 * overload.DEADLINE_S
    assert admitted - result["useful"] <= BROKEN_MAX * admitted


def check_bounds(lab):
    """No slot was given twice, and none before its work had ended."""
    assert lab.service()["window"]["peak"] <= WINDOW
    assert lab.backend()["in_queue_peak"] <= WINDOW + 1  # and the health check


def test_goodput_from_once_to_ten_times_the_capacity(make_lab):
    lab = make_lab(service=overload.service())
    memory = None
    for times, kept in [(1, None), (2, 256), (5, None), (10, None)]:
        lab.backend_reset()
        more = {"keep_alive": kept} if kept else {}
        load = overload.offer(lab, times, SECONDS, **more)
        # A health check a second, from a prefix of probes, beside each of them.
        probe = overload.offer(lab, 1, SECONDS, capacity_per_s=1, source="10.0.0.1")
        result = overload.measured(load, f"{times}x")
        probe = overload.measured(probe, f"probes at {times}x")
        assert probe["useful"] == probe["offered"] == SECONDS
        check_promises(result, 0.93)
        check_bounds(lab)
        # What the first run touched is all it ever needs.
        memory = memory or overload.memory_kib(lab.daemon)
    after = overload.memory_kib(lab.daemon)
    assert after["VmData"] == memory["VmData"]
    assert after["VmRSS"] - memory["VmRSS"] < 4096  # pages of its tables that 1x does not reach


def test_goodput_with_clients_50_ms_away(make_lab):
    lab = make_lab(service=overload.service(), rtt="50ms")
    result = overload.measured(overload.offer(lab, 2, SECONDS), "2x, 50 ms")
    check_promises(result, 0.9)
    check_bounds(lab)


def test_critical_work_loses_nothing_while_bulk_rises(make_lab):
    """Bulk at 60, 180 and 300 requests/s, critical at 20/s, on 100/s. (One other tenant, `default`,
    is bulk: the sources of 10.3.0.0/16.)"""
    lab = make_lab(acme='class = "critical";',
                   service=overload.service(capacity="100/s",
                                            reserve={"critical": {"slots": 1, "places": 2}}))
    lab.script("pace", "100/s")
    critical = overload.offer(lab, 1, SECONDS, capacity_per_s=20, source="10.1.0.0/16")
    useful = []
    for per_s, seconds in [(60, 3), (180, 3), (300, 4)]:
        load = overload.offer(lab, 1, seconds, capacity_per_s=per_s, source="10.3.0.0/16")
        bulk = overload.measured(load, f"bulk at {per_s}/s")
        useful.append(bulk["useful"] / seconds)
        assert bulk["late"] + bulk["unfinished"] <= BROKEN_MAX * bulk["offered"]
    critical = overload.measured(critical, "critical")
    assert critical["useful"] == critical["offered"] == 20 * SECONDS
    assert critical["refused"] == 0
    # Below the capacity bulk is left alone; above it gets what critical work leaves.
    assert useful[0] >= 0.99 * 60
    assert min(useful[1:]) >= 0.85 * (100 - 20)


def test_a_stopped_backend_costs_one_open_period_and_a_ramp(make_lab):
    lab = make_lab(service=overload.service())
    # Requests that reach the service, by the time they do.
    requests = wire.Capture(lab, "inside", "s0", lambda f: not f.sent and b"GET / HTTP" in f.data)
    load = overload.offer(lab, 2, 20)
    start = time.time()
    time.sleep(2.5)
    lab.script("signal", "backend", "STOP")
    stopped = time.time()
    try:
        # Three failures in a row, each known a deadline after it began.
        assert until(2 * overload.DEADLINE_S + 1, lambda: lab.service()["breaker"]["state"] != "closed")
        opened = time.time()
        time.sleep(max(0, stopped + 5 - time.time()))
    finally:
        lab.script("signal", "backend", "CONT")
    continued = time.time()
    result = overload.measured(load, "2x, stopped for 5 s")
    seen = [frame.time_s for frame in requests.stop()]
    rows = {row["t_s"]: row for row in result["series"]}
    print("\n".join(f"{t} {row['useful']} useful, {row['unfinished']} unfinished, "
                    f"{row['refused_rst']} refused" for t, row in rows.items()))

    # Whole seconds of the run between opening and going on: refused, but for a probe.
    dark = [rows[t] for t in rows if start + t > opened + 0.1 and start + t + 1.3 < continued]
    assert dark
    assert all(row["useful"] == 0 and row["offered"] - row["refused_rst"] <= 1 for row in dark)
    assert result["refusal_p50_ms"] < 50  # at once: a tenth of what a held one would take
    probes = sum(opened + 0.1 < t < continued for t in seen)
    assert probes <= 3  # after 1 s, 2 s more, 4 s more

    # The open period that ran at CONT began while it was stopped, and is 1, 2 or 4 s long.
    full = continued - start + 4 * OPEN_S * 1.1 + RAMP_S
    late = [row for t, row in rows.items() if t >= full]
    assert late, "the run is too short to show the return"
    assert sum(row["useful"] for row in late) >= 0.93 * CAPACITY * len(late)
    assert until(2, lambda: lab.service()["breaker"]["state"] == "closed")


def test_a_backend_ten_times_slower_is_not_given_more(make_lab):
    lab = make_lab(service=overload.service())
    lab.script("pace", f"{CAPACITY // 10}/s")
    result = overload.measured(overload.offer(lab, 2, SECONDS), "2x of before, ten times slower")
    check_bounds(lab)
    # Five in flight keep four slots busy, and need 294 ms each: whoever is admitted is answered.
    assert result["useful"] >= 0.85 * SECONDS * CAPACITY / 10
    assert result["late"] + result["unfinished"] <= max(WINDOW, BROKEN_MAX * result["useful"])
    # A slot is held until the service has answered, whoever has gone meanwhile.
    assert until(5, lambda: lab.slots() == (0, 0, 0))
    lab.script("pace", f"{CAPACITY}/s")
