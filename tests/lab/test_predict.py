# SPDX-License-Identifier: BSD-3-Clause
"""The simulator foretells what the lab does: one of the scenarios of tools/lab/predict, and its bounds."""

import os
import re
import subprocess

from lab import BUILD, ROOT

PREDICT = ROOT / "tools/lab/predict"
FIGURES = ["useful/s", "refused %", "eff. p99 ms"]


def predict(*words):
    return subprocess.run([PREDICT, *words], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, SLUICE_LAB=f"t{os.getpid()}-pr", SLUICE_BUILD=str(BUILD)))


def test_twice_the_capacity_is_as_predicted(machine, tmp_path):
    """Goodput to 5 %, the refused share to 5 points, effective p99 to 20 %."""
    del machine  # that a lab can be brought up here is all that is needed of it
    done = predict("lab-step-2x", "--runs", "1", "--csv", str(tmp_path / "runs.csv"))
    print(done.stdout + done.stderr)
    assert done.returncode == 0, "outside its bounds, or not measured"
    assert [re.search(re.escape(figure), line) is not None
            for figure, line in zip(FIGURES, done.stdout.splitlines()[1:])] == [True] * 3
    rows = (tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[2] for row in rows] == ["what", "predicted", "measured"]


def test_a_scenario_that_the_lab_cannot_play_is_told(machine):
    del machine
    done = predict("faxrx")
    assert (done.returncode, "its gate is no file" in done.stderr) == (1, True)
    done = predict("nosuch")
    assert (done.returncode, "no such scenario" in done.stderr) == (1, True)
