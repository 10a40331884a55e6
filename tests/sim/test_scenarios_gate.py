# SPDX-License-Identifier: BSD-3-Clause
"""What each part of the gate does, to the number: burst, mm4, classes, limiter, breaker, passive-check."""

import statistics

import pytest
from play import play, summaries

# -- waiting --


@pytest.mark.parametrize("variant, refused, waited_ms, drain_ms, most", [
    ("unbounded", 0, 1765, 7469, 300), ("16-places", 284, 94, 369, 16), ("17-places", 283, 102, 392, 17),
    ("40-places", 260, 235, 975, 40)])
def test_burst(variant, refused, waited_ms, drain_ms, most):
    got = summaries("burst")[variant]
    assert (got["offered"], got["useful"]) == (1300 + 2000 + 1300, 4600 - refused)
    assert got["refused_capacity"] == got["refusals"] == refused
    assert (round(got["max_wait_s"] * 1000), round(got["drain_s"] * 1000)) == (waited_ms, drain_ms)
    assert got["max_queue" if variant == "unbounded" else "max_waiting"] == most


SEEDS = "seed=" + ",".join(map(str, range(1, 11)))


def means(rate, duration):
    """Of ten runs of mm4: each by itself is off by up to 3 % at 200/s."""
    runs = [run["summary"] for run in play("mm4", "--set", f"duration={duration}", "--set", f"arrivals.0.rate={rate}",
                                           "--sweep", SEEDS)]
    assert [run["max_waiting"] for run in runs] == [17] * 10
    return {key: statistics.mean(run[key] for run in runs) for key in ("refusal_share", "goodput_per_s", "mean_s")}


def test_four_servers_and_seventeen_places():
    """M/M/4/21 within 1 %, more than one standard error of each of the means."""
    light = means("200/s", "600s")
    assert light["refusal_share"] == pytest.approx(.156, rel=.01)
    assert light["goodput_per_s"] == pytest.approx(168.8, rel=.01)
    heavy = means("850/s", "60s")
    assert heavy["refusal_share"] == pytest.approx(.800, rel=.01)
    assert heavy["goodput_per_s"] == pytest.approx(170.0, rel=.01)
    assert heavy["mean_s"] - 4 / 170 == pytest.approx(.0985, rel=.01)


# -- classes --

TWICE_AS_MANY_SEEDS = "seed=" + ",".join(map(str, range(1, 21)))
CALM = ["--set", "duration=40s", "--set", "arrivals.history.step.from=38s", "--set", "arrivals.alerts.step.from=39s",
        "--set", "arrivals.history.step.rate=60/s", "--set", "arrivals.alerts.step.rate=20/s"]


def share_shed(run, from_s, to_s, offered_per_s):
    return sum(row["refused_shed"] for row in run["series"][from_s:to_s]) / ((to_s - from_s) * offered_per_s)


def test_no_alert_is_lost():
    runs = [run["summary"] for run in play("classes", "--series", "--sweep", TWICE_AS_MANY_SEEDS)]
    assert len(runs) == 20
    for got in runs:
        assert got["refused.alert"] == got["unfinished.alert"] == got["late.alert"] == 0
        assert got["useful.alert"] > 2400 and got["refused_shed"] > 1500


def test_two_fifths_of_history_are_shed():
    """Of 100/s, when alerts are as ever: .43 +- .06 with so few."""
    shed = [share_shed(run, 50, 80, 100) for run in play("classes", "--series", "--sweep", TWICE_AS_MANY_SEEDS)]
    assert statistics.mean(shed) == pytest.approx(.43, abs=.03)
    assert max(abs(one - .43) for one in shed) < .12


def test_two_fifths_where_chance_evens_out():
    """.398 +- .006, a hundred times as many, and five times as often looked at."""
    hundred = [f"--set={key}={value}" for key, value in {
        "gate.control.period": "10ms",
        "gate.services.enrich.window": 100, "gate.services.enrich.capacity": "10000/s",
        "gate.services.enrich.wait.places": 1000, "gate.services.enrich.shed.reserve": "2000/s",
        "stages.enrich.servers": 100, "duration": "20s", "arrivals.history.rate": "6000/s",
        "arrivals.history.step.rate": "10000/s", "arrivals.history.step.from": "4s",
        "arrivals.history.step.for": "16s", "arrivals.alerts.rate": "2000/s",
        "arrivals.alerts.step.rate": "4000/s"}.items()]
    runs = play("classes", "--series", *hundred, "--sweep", SEEDS)
    assert [run["summary"]["refused.alert"] for run in runs] == [0] * 10
    shed = [share_shed(run, 8, 20, 10000) for run in runs]
    assert statistics.mean(shed) == pytest.approx(.398, abs=.006)
    assert max(abs(one - .398) for one in shed) < .015


def test_hardly_anything_is_shed_in_the_calm():
    """60 and 20 of 100, 20 of them kept free: nothing need be shed, and below 1 % is."""
    runs = [run["summary"] for run in play("classes", *CALM, "--sweep", "seed=" + ",".join(map(str, range(1, 41))))]
    offered = sum(sum(got[end + ".history"] for end in ("useful", "late", "unfinished", "refused")) for got in runs)
    assert offered > 94000
    assert sum(got["refused_shed"] for got in runs) < .01 * offered


# -- quotas --

WORKERS = [1, 4, 16]


@pytest.mark.parametrize("workers", WORKERS)
def test_limit_req(workers):
    run = play("limiter", "--series", "--set", f"workers={workers}", "--sweep", "seed=1")[0]
    rows = {int(row["t_s"]): (row["offered"], row["admitted"], row["refused_rate"])
            for row in run["series"] if row["offered"]}
    assert rows == {0: (30, 11, 19), 10: (20, 15, 5), 11: (20, 5, 15), 12: (20, 5, 15), 13: (20, 5, 15)}
    assert run["summary"]["refusals"] == run["summary"]["refused_rate"] == 69


@pytest.mark.parametrize("workers", WORKERS)
def test_limit_req_twelve_at_once(workers):
    """And 2.2 s later, when it is full again, twelve more."""
    times = "[" + ",".join(['"0s"'] * 12 + ['"2200ms"'] * 12) + "]"
    got = play("limiter", "--set", f"workers={workers}", "--set", f"arrivals.burst.times={times}",
               "--series", "--sweep", "seed=1")[0]["series"]
    assert [(got[i]["admitted"], got[i]["refused_rate"]) for i in (0, 1, 2)] == [(11, 1), (0, 0), (11, 1)]


def test_limit_req_tried_again():
    """After the client's own second, in which five more have been earned."""
    run = play("limiter", "--set", "clients.tries=2", "--set", "arrivals.stream.rate=1/h", "--sweep", "seed=1")[0]
    got = run["summary"]
    assert (got["offered"], got["attempts"], got["useful"], got["refused"]) == (31, 50, 17, 14)
    assert got["first_max_s"] == pytest.approx(1.001, abs=1e-9)


# -- breaker --


def admitted_at_s(run, end_s):
    """To the tenth of a second in which they all come."""
    return [round(row["t_s"], 1) for row in run["series"] for _ in range(row["admitted"]) if row["t_s"] < end_s]


def test_breaker():
    """Open at .2 s; trials at 1.2 and 2.2 s fail, that of 3.2 s closes."""
    none, run = play("breaker", "--series")
    assert none["summary"]["unfinished"] == 25
    assert admitted_at_s(run, 3.25) == [0, .1, .2, 1.2, 2.2, 3.2]
    assert run["summary"]["unfinished"] == 5
    # The eight of 3.2 s and later would all have reached it; they are let in by and by.
    assert 1 <= len(admitted_at_s(run, 4)) - 5 < 8
    assert run["summary"]["admitted"] + run["summary"]["refused_breaker"] == 100
    assert len(admitted_at_s(run, 10)) - len(admitted_at_s(run, 8.3)) == 17


def test_breaker_with_any_seed():
    """A period is a second, a tenth more or less: the trial is the first request after it."""
    runs = play("breaker", "--series", "--set", "duration=4s", "--sweep", "seed=" + ",".join(map(str, range(1, 21))))
    for run in runs[20:]:
        first = admitted_at_s(run, 3.7)
        trials = first[2:first.index(next(t for t in first if t > 2.5)) + 1]
        assert first[:3] == [0, .1, .2]
        for before, trial in zip(trials, trials[1:]):
            assert .85 < trial - before < 1.25, run["sweep"]
        assert run["summary"]["unfinished"] == 5


def test_passive_check():
    """Fails at 1.0 s, out until 11 s, one trial."""
    run = play("passive-check", "--series")[0]
    assert admitted_at_s(run, 11.05) == [n / 10 for n in range(11)] + [11]
    assert run["summary"]["unfinished"] == 1
    assert run["summary"]["refused_breaker"] == run["summary"]["offered"] - run["summary"]["admitted"]


def test_passive_check_with_any_seed():
    """The breaker makes its period longer or shorter by up to a tenth, by the hash of the attempt that failed.

    So the door opens from 10 s to 12 s, and the trial is the first request then: at 11.0 s with the seed above alone.
    """
    trials = []
    for run in play("passive-check", "--series", "--sweep", SEEDS):
        at_s = admitted_at_s(run, 15)
        assert at_s[:11] == [n / 10 for n in range(11)]
        trials.append(at_s[11])
        assert run["summary"]["unfinished"] == 1
        assert run["summary"]["refused_breaker"] == run["summary"]["offered"] - run["summary"]["admitted"]
    assert 10 <= min(trials) < 10.5 and 11.5 < max(trials) <= 12.1
