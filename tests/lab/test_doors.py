# SPDX-License-Identifier: BSD-3-Clause
"""tools/lab/overload, and what it compares with Sluice: that each door lets pass, refuses, and goes
away again. (The lab asserts the last of these for any test.)"""

import csv
import os
import re
import shutil
import subprocess
import sys

import pytest

import overload
from lab import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools/lab/doors"))
# pylint: disable=wrong-import-position
import cpu
from run import Spike

QUIET, QUIET_PER_S = 20, 40
TIMES, SECONDS = 5, 2
# By how each of them refuses, as sluice-load calls it.
DOORS = {"haproxy": ("haproxy", ["refused_503"]),
         "nginx": ("nginx", ["refused_429", "refused_503"]),
         "nftables": ("nft", ["refused_rst"])}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_passes_what_is_little_and_refuses_what_is_too_much(bridge_lab, door):
    program, kinds = DOORS[door]
    if not shutil.which(program):
        pytest.skip(f"{program} is missing; see tools/packages")
    lab = bridge_lab("--with", door)
    # All that runs is the lab's, which sees it end.
    assert set(lab.processes) == {"backend", "nginx"} | ({"door"} if program == door else set())
    target = re.search(r" target=(\S+)", lab.script("status").stdout)[1]

    quiet = overload.offer(lab, 1, capacity_per_s=QUIET_PER_S, target=target,
                           duration=f"{1000 * QUIET // QUIET_PER_S}ms")
    quiet = overload.measured(quiet, f"{door}, quiet")
    assert quiet["useful"] == quiet["offered"] == QUIET

    result = overload.offer(lab, TIMES, SECONDS, target=target, poisson=True)
    result = overload.measured(result, f"{door}, {TIMES}x")
    assert result["useful"] >= 0.5 * SECONDS * overload.CAPACITY_PER_S
    assert result["refused"] >= 0.8 * (TIMES - 1) * SECONDS * overload.CAPACITY_PER_S
    assert result["refused"] == sum(result[kind] for kind in kinds)
    assert result["refusal_p50_ms"] < 50  # half of what its queue may take
    assert result["late"] + result["unfinished"] == 0
    # Nobody got past the door.
    assert lab.backend()["served"] == QUIET + result["useful"]


def test_recovery_is_the_first_of_two_good_seconds_after_the_spike():
    spike = Spike(before_s=1, long_s=2, after_s=5, useful_min=0.95, kept_s=2)
    offered = [100, 1000, 1000, 100, 100, 100, 100, 100]
    assert spike.recovery_s([100, 170, 170, 95, 95, 0, 0, 0], offered) == 0
    assert spike.recovery_s([100, 170, 170, 94, 95, 94, 100, 96], offered) == 3
    assert spike.recovery_s([100, 170, 170, 94, 95, 94, 100, 94], offered) is None


def stat_line(parent, *ticks):
    """/proc/PID/stat with these times: own user, own system, ended children's user and system."""
    return f"1 (a ) b) S {parent} 1 1 0 -1 0 0 0 0 0 {' '.join(map(str, ticks))} 20 0 1 0 100"


def snapshot(monkeypatch, busy_s, **lines):
    monkeypatch.setattr(cpu, "TICKS_PER_S", 100)
    monkeypatch.setattr(cpu, "machine_s", lambda: busy_s)
    pids = {"init": 1, "kthreadd": 2, "softirqd": 3, "door": 10, "door_worker": 11, "backend": 20,
            "make": 30, "compiler": 31, "own": os.getpid()}
    monkeypatch.setattr(cpu, "processes", lambda: {
        pids[name]: cpu.Process(stat_line(*line)) for name, line in lines.items()})
    return cpu.Snapshot({"door": {10}, "service": {20}})


def test_cpu_time_is_told_by_whose_it_was(monkeypatch):
    before = snapshot(monkeypatch, 100, init=(0, 9, 9, 9, 9), kthreadd=(0, 0, 5, 0, 0),
                      softirqd=(2, 0, 50, 0, 0), door=(1, 10, 20, 0, 0), door_worker=(10, 0, 0, 0, 0),
                      backend=(1, 100, 100, 0, 0), make=(1, 0, 0, 0, 0), compiler=(30, 100, 0, 0, 0),
                      own=(1, 10, 10, 500, 500))
    # The compiler went on for a second, and has ended; so has the load tool, a child of our own.
    after = snapshot(monkeypatch, 104, init=(0, 9, 9, 9, 9), kthreadd=(0, 0, 5, 0, 0),
                     softirqd=(2, 0, 90, 0, 0), door=(1, 10, 30, 0, 0), door_worker=(10, 40, 20, 0, 0),
                     backend=(1, 120, 110, 0, 0), make=(1, 5, 0, 190, 10), own=(1, 15, 10, 550, 550))
    # Of the 4 s: compiler and make 1.05, our own script 0.05.
    assert after.since(before, load_s=1) == pytest.approx(
        {"door_cpu_s": 0.7, "service_cpu_s": 0.3, "load_cpu_s": 1, "strangers_cpu_s": 1.1,
         "lab_cpu_s": 2.9, "rest_cpu_s": 1.6})


def test_the_comparison_measures_a_door_and_leaves_nothing(machine, tmp_path):
    if not shutil.which("gnuplot"):
        pytest.skip("gnuplot is missing; see tools/packages")
    name = f"test{os.getpid()}-comparison"
    done = subprocess.run(
        [ROOT / "tools/lab/overload", "--only", "sluice", "--multiples", str(TIMES), "--runs", "1",
         "--seconds", "1", "--no-spike", "--csv", tmp_path / "runs.csv", "--out", tmp_path], text=True,
        capture_output=True, check=False, env=dict(os.environ, SLUICE_LAB=name,
                                                   SLUICE_BUILD=str(BUILD)))
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    [row] = csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())
    assert (row["kind"], row["door"], float(row["multiple"])) == ("steady", "sluice", TIMES)
    ends = ["useful", "late", "unfinished", "refused", "not_sent"]
    assert int(row["offered"]) == sum(int(row[end]) for end in ends)
    assert float(row["goodput_per_s"]) >= 0.5 * overload.CAPACITY_PER_S
    assert int(row["refused"]) == int(row["refused_rst"]) > 0
    assert float(row["door_cpu_s"]) > 0
    assert "</svg>" in (tmp_path / "goodput.svg").read_text()
    assert not os.path.exists(f"/run/{name}-lab") and not os.path.exists(f"/run/netns/{name}-gw")
