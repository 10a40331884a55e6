# SPDX-License-Identifier: BSD-3-Clause
"""What asking again costs: retry-tree, retry-budget, idempotent, deadline-chain."""

import pytest
from play import summaries


def test_retries_multiply_along_a_chain():
    got = summaries("retry-tree")
    assert {summary["offered"] for summary in got.values()} == {1000}
    assert {name: summary["executed"] for name, summary in got.items()} == {
        "two-at-3": 2 ** 3 * 1000, "three-at-3": 3 ** 3 * 1000, "three-at-5": 3 ** 5 * 1000,
        "two-at-1": 2 * 1000, "budget-at-1": 1100}
    assert {summary["unfinished"] for summary in got.values()} == {1000}
    assert {summary["max_queue"] for summary in got.values()} == {0}


def test_retries_keep_to_a_budget():
    assert {name: summary["executed"] for name, summary in summaries("retry-budget").items()} == {
        "naive": 3000, "budget": 1109}


def test_a_key_makes_paying_again_harmless():
    got = summaries("idempotent")
    for name, booked in [("no-key", 14), ("key", 10)]:
        assert got[name]["attempts"] == 14 and got[name]["executed"] == booked
        assert got[name]["effects"] == got[name]["useful"] == 10


def test_who_knows_the_deadline_stops_at_it():
    got = summaries("deadline-chain")
    assert {name: summary["executed"] for name, summary in got.items()} == {
        "unaware": 30, "passed-on": 10, "patient": 30}  # parts of .1 s: 2 s saved
    assert got["unaware"]["unfinished"] == got["passed-on"]["unfinished"] == got["patient"]["late"] == 1
    assert [got[name]["end_s"] for name in ("unaware", "passed-on")] == pytest.approx([3, 1], abs=1e-9)
    assert got["passed-on"]["eff_max_s"] == got["unaware"]["eff_max_s"] == 1
    assert got["patient"]["max_s"] == pytest.approx(3.1, abs=1e-9)
