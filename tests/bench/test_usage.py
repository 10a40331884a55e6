# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench: each of its programs goes by the words that call it."""

import pathlib
import subprocess

import pytest

BENCH = pathlib.Path(__file__).parents[2] / "tools/bench"


@pytest.mark.parametrize("words, program", [
    ("compare", "compare.py"), ("instructions", "instructions"), ("port", "port/port"),
    ("flood", "flood/flood"), ("xdp-cost", "xdp/cost"), ("xdp-race", "xdp/race")])
def test_usage_says_how_it_was_called(words, program):
    done = subprocess.run([BENCH / program, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: bench {words} ["), done.stdout
