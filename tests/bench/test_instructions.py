# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/instructions: with which programs the reference is neither written nor compared."""

import os
import subprocess

import pytest

BENCH = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../tools/bench"))
REFERENCE = os.path.join(BENCH, "reference.json")


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    """Runs it with a program that says to be built by clang, and a valgrind that must not be used."""
    line = '{"row":"decision_refuse","cycles":1,"compiler":"clang 14.0.6 -O2"}'
    for name, does in (("sluice-bench", f"echo '{line}'"), ("valgrind", "exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)

    def run(option):
        with open(REFERENCE, encoding="ascii") as file:
            before = file.read()
        done = subprocess.run([os.path.join(BENCH, "instructions"), option], text=True, check=False,
                              env={**os.environ, "SLUICE_BENCH": str(tmp_path / "sluice-bench"),
                                   "PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True)
        with open(REFERENCE, encoding="ascii") as file:
            assert file.read() == before
        return done
    return run


def test_reference_is_counted_with_gcc(run):
    done = run("--update")
    assert (done.returncode, done.stdout) == (1, "")
    assert ("the reference is counted with gcc, and this program was built with clang 14.0.6 -O2: "
            "reference.json stays as it was\n") in done.stderr


def test_programs_of_another_compiler_are_not_compared(run):
    done = run("--check")
    assert (done.returncode, done.stdout) == (77, "")
    assert "this program was built with clang 14.0.6 -O2\n" in done.stdout + done.stderr
