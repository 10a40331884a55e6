# SPDX-License-Identifier: BSD-3-Clause
"""One run: a fresh lab with a door in it, load, and what came of it."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time

import cpu

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")).resolve()
SCRIPT = HERE.parent / "lab"
LOAD = BUILD / "tools/load/sluice-load"
NAME = os.environ.get("SLUICE_LAB", "sluice-overload")

DOORS = {"none": ["--without"], "sluice": ["--config", str(HERE / "sluice.conf.in")],
         "haproxy": ["--with", "haproxy"], "nginx": ["--with", "nginx"],
         "nftables": ["--with", "nftables"]}
SOURCES = ",".join(f"10.{k}.0.0/16" for k in range(1, 6))
CAPACITY_PER_S = 170
SETTLE_S = 0.5
WARM_UP_S = 1  # of load, in which queues fill; what is in them at the end is served after it


class LabError(Exception):
    """The lab, or a load in it, could not be had; says why."""


@dataclasses.dataclass
class Spike:
    """The capacity offered all the time, `times` as much for `long_s` after `before_s`. Recovered is
    who serves this share of what is offered, this long."""
    times: int = 10
    before_s: int = 5
    long_s: int = 5
    after_s: int = 15
    useful_min: float = 0.95
    kept_s: int = 2

    def seconds(self):
        return self.before_s + self.long_s + self.after_s

    def recovery_s(self, useful, offered):
        """Seconds after the spike, None: not within `after_s`."""
        good = [u >= self.useful_min * o for u, o in zip(useful, offered)]
        end = self.before_s + self.long_s
        return next((t - end for t in range(end, len(good) - self.kept_s + 1)
                     if all(good[t:t + self.kept_s])), None)


def check_machine(plots):
    if os.geteuid() != 0:
        raise LabError("must run as root (for network namespaces)")
    if not LOAD.exists():
        raise LabError(f"{LOAD} is not there: build it, or say where by SLUICE_BUILD")
    if plots and not shutil.which("gnuplot"):
        raise LabError("gnuplot is missing; see tools/packages")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def script(*words):
    done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, SLUICE_LAB=NAME, SLUICE_BUILD=str(BUILD)))
    if done.returncode:
        raise LabError(f"lab {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


class Lab:
    """A lab with a door, up."""

    def __init__(self, status):
        self.target = re.search(r"target=(\S+)", status)[1]
        pids = {what: int(pid) for what, pid in re.findall(r"process=(\w+) pid=(\d+)", status)}
        service = {pids.pop("backend"), pids.pop("nginx")}
        self.groups = {"door": set(pids.values()), "service": service}
        self.loads = []

    def offer(self, per_s, seconds, seed=None):
        """Even spacing without a seed."""
        spacing = ["--poisson", "--seed", str(seed)] if seed is not None else []
        load = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{NAME}-cl", LOAD, "--target", self.target,
             "--source", SOURCES, "--rate", f"{round(per_s)}/s", "--duration", f"{seconds}s",
             "--deadline", "1s", "--json", "--series", *spacing],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.loads.append(load)
        return load


@contextlib.contextmanager
def brought_up(*words):
    """A lab, from `lab up WORDS...` to `lab down`."""
    ours = True
    try:
        try:
            script("up", *words)
        except LabError:
            ours = False  # it has taken away what it made, and may have met another's
            raise
        yield
    finally:
        if ours:
            script("down")


@contextlib.contextmanager
def lab(door):
    with brought_up(*DOORS[door]):
        here = Lab(script("status"))
        try:
            yield here
        finally:
            for load in here.loads:
                load.kill()
                load.wait()


def result_of(load):
    out, err = load.communicate()
    if load.returncode:
        raise LabError(f"sluice-load: {err}")
    return json.loads(out)


def load_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_steady(door, multiple, seconds, number):
    """A row of the CSV: what the load tool says, and whose CPU time it was."""
    with lab(door) as here:
        time.sleep(SETTLE_S)
        before, load_before_s = cpu.Snapshot(here.groups), load_cpu_s()
        # A seed for each run, the same for all doors: they are offered the same requests.
        result = result_of(here.offer(multiple * CAPACITY_PER_S, WARM_UP_S + seconds, seed=number))
        load_s = load_cpu_s() - load_before_s
        spent = cpu.Snapshot(here.groups).since(before, load_s)
    goodput = sum(row["useful"] for row in result["series"][WARM_UP_S:]) / seconds
    return {"kind": "steady", "door": door, "multiple": multiple, "run": number,
            "seconds": WARM_UP_S + seconds, "goodput_per_s": goodput, **result, **spent}


def measure_spike(door, spike, number):
    """Evenly spaced, so that each second is offered the same."""
    with lab(door) as here:
        time.sleep(SETTLE_S)
        calm = here.offer(CAPACITY_PER_S, spike.seconds())
        time.sleep(spike.before_s)
        peak = here.offer((spike.times - 1) * CAPACITY_PER_S, spike.long_s)
        peak, calm = result_of(peak)["series"], result_of(calm)["series"]
    useful, offered = ([row[what] for row in calm] for what in ("useful", "offered"))
    for second, row in enumerate(peak, spike.before_s):
        useful[second] += row["useful"]
        offered[second] += row["offered"]
    return {"kind": "spike", "door": door, "multiple": spike.times, "run": number,
            "seconds": spike.seconds(), "useful_by_second": useful, "offered_by_second": offered,
            "recovery_s": spike.recovery_s(useful, offered)}
