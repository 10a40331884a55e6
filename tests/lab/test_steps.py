# SPDX-License-Identifier: BSD-3-Clause
"""`sluicectl workers --steps` on a daemon under load."""

import json
import subprocess
import time

import pytest

from lab import SLUICECTL, until

STEPS = ["receive", "parse", "hand_over", "find_flows", "classify", "judge", "act"]
EVERY = 19


def ask_for_steps(lab, duration):
    return subprocess.Popen([SLUICECTL, "-s", lab.socket, "workers", "--steps", duration, "-j"],
                            stdout=subprocess.PIPE, text=True)


def bursts(lab):
    return lab.worker().get("sampled", {"bursts": 0})["bursts"]


def assert_off(lab):
    """Packets come, and none is sampled."""
    before = lab.worker()
    assert until(5, lambda: lab.worker()["received"] > before["received"] + 50 * EVERY)
    after = lab.worker()
    assert (after.get("sampled"), after.get("steps")) == (before.get("sampled"),
                                                          before.get("steps"))


def test_steps_are_sampled_for_as_long_as_asked(make_lab):
    lab = make_lab()
    load = lab.load(target="10.9.0.10:8081", source="10.2.0.0/16", rate="150/s", duration="12s")
    assert_off(lab)
    assert "steps" not in lab.worker()

    asked = ask_for_steps(lab, "2s")
    assert until(2, lambda: bursts(lab) > 0)  # the daemon answers others meanwhile
    worker, = json.loads(asked.communicate(timeout=20)[0])["workers"]
    sampled, steps = worker["sampled"], worker["steps"]
    assert 0 < sampled["bursts"] <= sampled["packets"] <= 32 * sampled["bursts"]
    assert sampled["bursts"] <= worker["received"] / EVERY
    assert list(steps) == STEPS
    for name, step in steps.items():
        assert (step["cycles"] > 0) == (name != "hand_over"), name  # a lone worker has none
        assert step["cycles_per_packet"] == pytest.approx(step["cycles"] / sampled["packets"],
                                                          abs=0.051)
    assert sum(step["cycles"] for step in steps.values()) == sampled["cycles"]
    assert_off(lab)

    killed = ask_for_steps(lab, "1s")
    assert until(1, lambda: 0 < bursts(lab) < sampled["bursts"])  # it has begun anew
    killed.kill()
    killed.communicate()
    time.sleep(1.1)
    assert_off(lab)
    load.result()
