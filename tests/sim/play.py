# SPDX-License-Identifier: BSD-3-Clause
"""Shipped scenarios, played by the program itself."""

import csv
import functools
import io
import json
import os
import pathlib
import subprocess

SLUICE_SIM = os.environ["SLUICE_SIM"]
SCENARIOS = pathlib.Path(__file__).parents[2] / "tools" / "sim" / "scenarios"


@functools.cache
def play(name, *arguments):
    """The runs of a scenario: their `variant`, `sweep`, `summary` and, with --series, `series`."""
    done = subprocess.run([SLUICE_SIM, "run", name, "-j", *arguments], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "SLUICE_SCENARIOS": str(SCENARIOS)}, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"]


def summaries(name, *arguments):
    """By variant."""
    return {run["variant"]: run["summary"] for run in play(name, *arguments)}


def series(name, *arguments):
    """By variant."""
    return {run["variant"]: run["series"] for run in play(name, "--series", *arguments)}


@functools.cache
def printed(name, *arguments):
    """The scenario's own columns, as they are printed."""
    done = subprocess.run([SLUICE_SIM, "run", name, "--csv", *arguments], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "SLUICE_SCENARIOS": str(SCENARIOS)}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table(name, *arguments):
    """The same: a dictionary of texts for each run."""
    return list(csv.DictReader(io.StringIO(printed(name, *arguments))))
