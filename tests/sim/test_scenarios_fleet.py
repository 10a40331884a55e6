# SPDX-License-Identifier: BSD-3-Clause
"""Instances that are lost, and others that come too late: loss, autoscale."""

import pytest
from play import play

POD = 170  # requests a second of an instance


def by_variant(name):
    return {run["variant"]: run for run in play(name, "--series")}


def useful(run, first, last):
    return {row["useful"] for row in run["series"][first:last]}


def test_what_nine_of_ten_bear():
    got = by_variant("loss")
    # A rise by 30 % is within ten, 1300/s are within nine: nobody waits.
    assert useful(got["rise-only"], 11, 40) == {1690} and got["rise-only"]["summary"]["max_queue"] == 0
    assert useful(got["loss-only"], 1, 40) == {1300} and got["loss-only"]["summary"]["max_queue"] == 0
    assert useful(got["bare"], 11, 20) == useful(got["gate"], 11, 20) == {1690}
    # Both: until the queue is a second long, and then never.
    assert useful(got["bare"], 20, 30) == useful(got["gate"], 20, 40) == {9 * POD}
    assert useful(got["bare"], 31, 40) == {0}
    assert got["bare"]["series"][39]["queue"] > 30000
    assert got["gate"]["summary"]["late"] == got["gate"]["summary"]["unfinished"] == 0
    assert got["gate"]["summary"]["max_s"] < .1


EVERY_S = 15  # an interval, and the scaler's look


def test_unmet_demand_asks_for_instances():
    got = by_variant("autoscale")
    for name in ("busy", "demand"):
        run = got[name]
        assert useful(run, 1, 2) == {400 * EVERY_S}
        for row in run["series"][2:7]:  # asked for at 45 s, there at 105 s
            assert row["useful"] == pytest.approx(4 * POD * EVERY_S, abs=5)
            assert row["refused_shed"] + row["refused_capacity"] == pytest.approx(970 * EVERY_S, rel=.01)
        assert useful(run, 13, 15) == {1650 * EVERY_S}
    # All that is needed, or as many as busy servers let think: 4 / .65, then 7 / .65.
    assert useful(got["demand"], 8, 13) == {1650 * EVERY_S}
    for row in got["busy"]["series"][7:12]:
        assert row["useful"] == pytest.approx(7 * POD * EVERY_S, rel=.005)
    assert {name: got[name]["summary"]["max_instances"] for name in got} == {"busy": 11, "demand": 15, "quota": 4}


def test_what_quotas_refuse_is_no_demand():
    run = by_variant("autoscale")["quota"]
    assert useful(run, 3, 15) == {400 * EVERY_S}
    assert {row["refused_rate"] for row in run["series"][3:15]} == {1200 * EVERY_S}
    assert run["summary"]["refusals"] == run["summary"]["refused_rate"]
