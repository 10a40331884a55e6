# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/xdp: every packet is where its row says. No time is judged here."""

import json
import os
import subprocess
import time

import pytest

FOLDER = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../tools/bench/xdp"))
UNAVAILABLE = 77
SOURCES, SECONDS = 16, 0.1


def run(name, *arguments):
    """Exit code, and what it printed: rows by name."""
    done = subprocess.run([os.path.join(FOLDER, name), *arguments], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr.strip())
    rows = [json.loads(line) for line in done.stdout.splitlines()] if "-j" in arguments else []
    return done.returncode, {row["row"]: row for row in rows}


def there(rows, name):
    """The row, if its tool is there."""
    if "unavailable" in rows[name]:
        pytest.skip(f"{name}: {rows[name]['unavailable']}")
    return rows[name]


@pytest.fixture(name="race", scope="module")
def fixture_race():
    begun = time.monotonic()
    status, rows = run("race", "-j", "--rounds", "2", "--seconds", str(SECONDS), "--sources", str(SOURCES))
    assert status == 0
    return {**rows, "lasted_s": time.monotonic() - begun}


def test_the_source_drops_what_it_makes_when_alone(race):
    row = race["generator"]
    assert row["sent"] == row["drops"] > 0
    assert row["received"] == 0


@pytest.mark.parametrize("name", ["xdp_drop", "sluice_deny", "xdp_filter", "nft_set"])
def test_who_denies_all_sources_drops_all_frames(race, name):
    row = there(race, name)
    assert row["sent"] == row["received"] == row["drops"] > 0
    assert (row["sources"], row["rounds"]) == (SOURCES, 2)


@pytest.mark.parametrize("name", ["sluice_quota", "nft_limit", "hashlimit_nft", "hashlimit_legacy"])
def test_who_limits_lets_each_source_through_once(race, name):
    """Each source has one packet, and one more a second."""
    row = there(race, name)
    assert row["sent"] == row["received"]
    assert SOURCES <= row["received"] - row["drops"] <= SOURCES * (1 + race["lasted_s"])


@pytest.fixture(name="cost", scope="module")
def fixture_cost():
    status, rows = run("cost", "-j", "--runs", "3", "--packets", "20000")
    assert status == 0
    return rows


@pytest.mark.parametrize("name", ["noop", "miss", "xdp_filter_64", "xdp_filter_4k", "deny_1", "deny_64", "deny_4k", "quota_64", "quota_64_fine", "quota_64k",
                                  "quota_64k_tenants", "known", "spoofed", "pass", "guard_socket", "guard_quota"])
def test_every_packet_met_with_what_the_row_is_about(cost, name):
    """The program checks its counters, and fails if one packet went another way."""
    row = there(cost, name)
    assert (row["packets"], row["runs"]) == (20000, 3)
    assert row["min"] <= row["over_ns"] <= row["max"]
    assert row["ns"] > 0


@pytest.mark.parametrize("arguments", [
    ("race", "--rounds", "0"), ("race", "--seconds", "0"), ("race", "--sources", "10001"),
    ("race", "--sources", "0"), ("race", "tc"), ("cost", "--runs", "0"), ("cost", "--packets", "0"),
    ("cost", "more")])
def test_usage(arguments):
    assert run(*arguments)[0] == 2
