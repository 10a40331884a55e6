# SPDX-License-Identifier: BSD-3-Clause
"""The fax service with any random numbers, its callers dialling again, and the window by formula: faxrx-redial, erlang.

The table of faxrx itself is exact. Tolerances are four standard deviations of a run.
"""

import pathlib
import statistics

import pytest
from play import play, printed, table

SEEDS = "seed=" + ",".join(map(str, range(1, 11)))


def fax(burst):
    """The ten runs of each architecture."""
    rows = table("faxrx", "--set", f"arrivals.0.decay.factor={burst}", "--sweep", SEEDS)
    runs = {arch: [row for row in rows if row["arch"] == arch] for arch in "ABC"}
    assert [len(r) for r in runs.values()] == [10, 10, 10]
    return runs


def near(values, mean, deviation):
    """Each within four deviations, their mean within one."""
    return (values == pytest.approx([mean] * len(values), abs=4 * deviation)
            and statistics.fmean(values) == pytest.approx(mean, abs=deviation))


def share(rows, name):
    return [int(row[name]) / int(row["arrivals"]) for row in rows]


def p95_s(rows):
    return [float(row["eff_p95_s"]) for row in rows]


@pytest.mark.parametrize("workers", [1, 4])
def test_the_published_model_row_by_row(workers):
    golden = (pathlib.Path(__file__).parents[1] / "golden/faxrx.csv").read_text().splitlines()
    assert len(golden) == 34
    assert printed("faxrx", "--set", f"workers={workers}").splitlines() == golden


def test_ten_times_the_calls():
    runs = fax("10.0")
    assert near(share(runs["A"], "ok"), .540, .004)
    assert near(share(runs["A"], "blocked"), .452, .004)
    assert near(p95_s(runs["A"]), 286, 2)
    assert near(share(runs["B"], "ok"), .516, .005)
    assert near(share(runs["C"], "ok"), .682, .002)
    assert near(p95_s(runs["C"]), 1413, 28)


def test_five_times_the_calls():
    runs = fax("5.0")
    assert near(share(runs["B"], "ok"), .826, .006)
    assert near(p95_s(runs["B"]), 1770, 56)
    assert near(share(runs["C"], "ok"), .873, .005)


def test_callers_dial_again():
    """Means of ten runs."""
    runs = play("faxrx-redial", "--set", 'variants=( { name = "again"; } )', "--set", "arrivals.0.decay.factor=10.0",
                "--sweep", SEEDS)
    assert len(runs) == 10
    mean = {key: statistics.fmean(run["summary"][key] for run in runs)
            for key in ("useful_share", "attempts_per_offered", "eff_p95_s", "first_p95_s")}
    assert mean["useful_share"] == pytest.approx(.56, abs=.03)
    assert mean["attempts_per_offered"] == pytest.approx(6.2, rel=.03)
    assert mean["eff_p95_s"] == pytest.approx(291, rel=.03)
    assert mean["first_p95_s"] == pytest.approx(2550, rel=.03)


def test_a_window_is_a_telephone_exchange():
    """Ten runs of 100000 arrivals: the mean of their shares has a standard error of .0004."""
    runs = play("erlang", "--set", "duration=36s", "--sweep", SEEDS)
    for variant in ("exponential", "fixed"):
        got = [run["summary"] for run in runs if run["variant"] == variant]
        assert len(got) == 10 and sum(run["offered"] for run in got) > 1e6 - 3000
        assert [run["refusals"] for run in got] == [run["refused_capacity"] for run in got]
        assert statistics.fmean(run["refusal_share"] for run in got) == pytest.approx(.01258, abs=.001), variant
