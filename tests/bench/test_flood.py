# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/flood: no packet of an established flow is lost by the gate, none is unaccounted for."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "tools/bench"
FLOOD = BENCH / "flood/flood"
UNAVAILABLE = 77


@pytest.fixture(name="flood", scope="module")
def fixture_flood():
    sys.path.insert(0, str(FLOOD.parent))
    loader = importlib.machinery.SourceFileLoader("flood", str(FLOOD))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("flood", loader))
    loader.exec_module(module)
    yield module
    sys.path.remove(str(FLOOD.parent))
    sys.path.remove(str(BENCH / "port"))


# 2200 packets of which 1100 found no room; of the others 100 belonged to established flows. Of 1000
# SYNs 900 were answered, of which 5 could not be sent.
BEFORE = {"sent": 3000, "refusals_back": 1000, "arrived": 2000, "missed": 0, "received": 3000,
          "known": 1000, "forwarded": 2000, "dropped": 0, "answered": 0, "tx_failed": 0, "syns": 0,
          "judged": 0, "refused": 0, "told": 0, "untold": 0}
FLOODED = {"sent": 1100, "refusals_back": 895, "arrived": 100, "missed": 0, "received": 1100,
           "known": 100, "forwarded": 100, "dropped": 100, "answered": 895, "tx_failed": 5,
           "syns": 1000, "judged": 950, "refused": 950, "told": 900, "untold": 100}


def account(flood, **changes):
    after = {name: BEFORE[name] + {**FLOODED, **changes}[name] for name in BEFORE}
    return flood.account(2200, BEFORE, after)


def test_each_packet_is_somewhere(flood):
    assert account(flood) == {
        "offered": 2200, "no_room": 1100, "refused": 1000, "judged": 950, "answered": 895,
        "admitted": 200, "forwarded": 100, "lost": {"line": 100, "gate": 0, "tx": 0}}


def test_where_packets_of_established_flows_were_lost(flood):
    # Seven dropped by the gate, three that it could not send.
    assert account(flood, known=90, forwarded=90, arrived=90, dropped=107, tx_failed=8)["lost"] == {
        "line": 100, "gate": 7, "tx": 3}
    # Four that the port missed before the gate saw them.
    row = account(flood, sent=1104, missed=4)
    assert (row["no_room"], row["lost"]) == (1100, {"line": 100, "gate": 0, "tx": 0})


@pytest.mark.parametrize("wrong, what", [
    ({"received": 1099}, "sent = received + missed: 1100, 1099"),
    ({"untold": 99}, "SYNs = told + untold: 1000, 999"),
    ({"refused": 949}, "judged = refused: 950, 949"),
    ({"dropped": 99}, "received = forwarded + dropped + answered + tx failed: 1100, 1099"),
    ({"known": 99}, "forwarded = of known flows: 100, 99"),
    ({"arrived": 99}, "forwarded = arrived: 100, 99"),
    ({"refusals_back": 894}, "answered = came back: 895, 894"),
    ({"syns": 899, "untold": 0, "told": 899}, "lost on the line = part of no room: -1, 0"),
])
def test_what_does_not_add_up(flood, wrong, what):
    with pytest.raises(RuntimeError, match="unaccounted for") as caught:
        account(flood, **wrong)
    assert str(caught.value) == "packets are unaccounted for: " + what


def test_one_loss_of_the_gate_is_a_failure(flood):
    row = {"run": "rst", "no_room": 5, "lost": {"line": 3, "gate": 0, "tx": 9}}
    flood.judge(row)
    flood.judge({**row, "run": "rst-paced"})
    with pytest.raises(RuntimeError, match="^rst-paced: 9 packets .* were lost behind the gate"):
        flood.judge({**row, "run": "rst-paced", "no_room": 0})
    with pytest.raises(RuntimeError, match="^rst: the gate lost 1 packets"):
        flood.judge({**row, "lost": {"line": 3, "gate": 1, "tx": 0}})


def test_halves_until_the_line_loses_nothing(flood, monkeypatch):
    reads = []

    def measured(*arguments):
        reads.append(arguments[-1])
        return {"no_room": 0 if len(reads) == 3 else 1, "offered_mpps": 0.1}

    monkeypatch.setattr(flood, "measure_at", measured)
    flood.find_pace(None, None, "rst-paced")
    assert reads == [8, 16, 32]
    monkeypatch.setattr(flood, "measure_at", lambda *_: {"no_room": 1, "offered_mpps": 0.1})
    with pytest.raises(RuntimeError, match="^rst-paced: .* did not keep up with 0.1 Mpps"):
        flood.find_pace(None, None, "rst-paced")


@pytest.fixture(name="rows", scope="module")
def fixture_rows():
    """Of two short floods, the first answered, the second not."""
    folder = tempfile.mkdtemp(prefix="flood-")  # tmp_path is too long for names of sockets
    done = subprocess.run([FLOOD, "rst", "drop", "-j", "--memory", "none", "--seconds", "0.3"],
                          env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    os.rmdir(folder)  # which nothing may be left in
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_gate_loses_nothing_in_a_flood(rows):
    assert [row["run"] for row in rows] == ["rst", "drop"]
    for row in rows:
        lost = row["lost"]
        at_gate = row["admitted"] - lost["line"]
        assert row["admitted"] == row["offered"] // 11
        assert row["offered"] - row["no_room"] == row["refused"] + at_gate
        assert at_gate == row["forwarded"] + lost["tx"] > 0
        assert lost["gate"] == 0
        assert row["refused"] >= row["judged"] > 0


def test_refusals_are_told_or_not(rows):
    told, silent = rows
    assert told["refused"] >= told["answered"] > 0
    assert silent["answered"] == 0 < silent["refused"]


@pytest.mark.parametrize("wrong", [["udp"], ["--seconds", "0"], ["--seconds", "5.1"],
                                   ["--type", "tap"], ["--memory", "some"]])
def test_usage(wrong):
    done = subprocess.run([FLOOD, *wrong], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
