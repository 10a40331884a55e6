# SPDX-License-Identifier: BSD-3-Clause
"""What a queue does to those who stand in it, and who is told of it: queue, loops, little, broker, waiting."""

import statistics

import pytest
from play import play, series, summaries

RECORDED = "requests.0.steps.0.time=31.3ms"  # 30 ms and what a real worker loses between two of them


def emitted_s(rows):
    """Until when something came."""
    return max(row["t_s"] for row in rows if row["offered"])


@pytest.mark.parametrize("sets, length", [([], [33, 66, 99]), (["--set", RECORDED], [36, 72, 108])])
def test_an_unbounded_queue_grows(sets, length):
    rows = series("queue", "--set", "interval=1s", *sets)["unbounded"]
    assert [row["queue"] for row in rows[:3]] == length


def test_ten_places_drop_or_hold_up():
    run = {name: (summary["useful"], summary["refusals"]) for name, summary in summaries("queue").items()}
    assert run["unbounded"] == (300, 0)
    assert run["drop"] == (210, 90)
    assert run["backpressure"] == (300, 0)
    assert run["shed"] == (202, 98)


def test_ten_places_as_recorded():
    runs = play("queue", "--series", "--set", RECORDED)
    summary = {run["variant"]: run["summary"] for run in runs}
    assert summary["drop"]["refused_full"] == 98
    assert summary["drop"]["max_queue"] == summary["backpressure"]["max_queue"] == 10
    assert round(summary["drop"]["max_wait_s"], 2) == round(summary["backpressure"]["max_wait_s"], 2) == .16
    [held_up] = [run["series"] for run in runs if run["variant"] == "backpressure"]
    assert emitted_s(held_up) == pytest.approx(4.5, abs=.02)
    assert round(summary["shed"]["max_wait_s"], 2) == .1
    # Whoever is let in by the gate is through in hardly more than half the time.
    assert summary["shed"]["mean_s"] < .6 * summary["drop"]["mean_s"]


def test_an_open_loop_shows_the_queue():
    got = summaries("loops")
    for rate, model, recorded in [(160, [264, 263, 494, 557, 681], [267, 265, 499, 563, 696]),
                                  (200, [802, 803, 1536, 1602, 1788], [799, 792, 1545, 1621, 1819])]:
        ms = [got[f"open-{rate}"][name] * 1e3 for name in ("mean_s", "p50_s", "p95_s", "p99_s", "max_s")]
        assert [round(value) for value in ms] == model
        assert ms == pytest.approx(recorded, rel=.03)


def test_a_closed_loop_hides_it():
    got = summaries("loops")["closed"]
    assert got["offered"] == 576 and [round(got[name], 3) for name in ("p50_s", "p95_s", "p99_s")] == [.021, .021, .201]


def under_way(rows):
    """At the end of each interval."""
    level, levels = 0, []
    for row in rows:
        level += row["offered"] - row["useful"]
        levels.append(level)
    return levels


def test_little():
    got = series("little")
    for name, level in [("200ms", 20), ("30ms", 3), ("wire", 20)]:
        assert under_way(got[name])[:20] == [level] * 20
    assert under_way(got["chain"])[:20] == [10] * 10 + [100] * 10
    got = summaries("little")
    assert {name: got[name]["max_open"] for name in got} == {
        "200ms": 20, "30ms": 3, "wire": 20, "link": 5, "chain": 100}
    assert got["link"]["max_wait_s"] == pytest.approx(.08, abs=1e-9)


def test_a_backlog_is_drained_by_what_capacity_is_left():
    runs = play("broker", "--series")
    got = {run["variant"]: run["summary"] for run in runs}
    age_s = {run["variant"]: [row["age_ms"] / 1e3 for row in run["series"]] for run in runs}
    assert got["drain-90"]["max_queue"] == got["drain-99"]["max_queue"] == 1000
    assert got["drain-90"]["drain_s"] == pytest.approx(1000 / (100 - 90), abs=.1)
    assert got["drain-99"]["drain_s"] == pytest.approx(1000 / (100 - 99), abs=1.1)
    assert got["hour"]["max_queue"] == 200 * 3600 == 720000
    assert age_s["hour"][3599] == pytest.approx(720000 / 1000, abs=.01)
    assert got["kept"]["useful"] == pytest.approx(800 * 10 / .2, abs=40)  # until the oldest was 10 s old, never again
    assert age_s["kept"][119] == pytest.approx(24, abs=.01)
    assert got["dropped"]["useful"] == pytest.approx(800 * 120, abs=10)
    assert got["dropped"]["dropped_aged"] == got["dropped"]["unfinished"] > 14000
    assert max(age_s["dropped"]) == pytest.approx(9.9, abs=.01)


def test_pollaczek_khinchine():
    waits_s = {}
    for run in play("waiting", "--sweep", "seed=" + ",".join(str(seed) for seed in range(1, 11))):
        waits_s.setdefault(run["variant"], []).append(run["summary"]["mean_s"] - .01)
    for name, spread in [("same", 0), ("exponential", 1), ("uneven", 2)]:
        assert len(waits_s[name]) == 10
        assert statistics.mean(waits_s[name]) == pytest.approx(.9 / .1 * (1 + spread ** 2) / 2 * .01, rel=.05)
