#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""
One short pair through memif ports: packets came back from both, sluiced's on known flows, and in
the shape promised. No rate is judged here.
"""
import json
import pathlib
import subprocess
import sys

from rig import UNAVAILABLE

PORT = pathlib.Path(__file__).with_name("port")
FLOWS = 300
FIXED = {"row": "port_memif", "ports": 2, "flows": 2 * FLOWS, "tenants": 1, "order": "cyclic",
         "memory": "none", "seconds": 0.5, "runs": 1}
MEASURED = ["pps", "base_pps", "ratio", "min", "max", "ratio_min", "ratio_max", "known", "full",
            "base_full", "generator_bound"]


def port(*arguments):
    return subprocess.run([sys.executable, PORT, *arguments], capture_output=True, text=True,
                          check=False)


def check_usage():
    for wrong in (["--pairs", "0"], ["--flows", "0"], ["--flows", "65537"], ["--seconds", "0"],
                  ["--type", "tap"], ["--memory", "some"], ["more"]):
        done = port(*wrong)
        assert (done.returncode, done.stdout) == (2, ""), wrong


def check_pair():
    done = port("-j", "--memory", "none", "--pairs", "1", "--seconds", "0.5", "--flows", str(FLOWS))
    if done.returncode == UNAVAILABLE:
        print(done.stderr)
        sys.exit(UNAVAILABLE)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    print(done.stdout)
    assert sorted(values) == sorted([*FIXED, *MEASURED]), values
    assert {key: values[key] for key in FIXED} == FIXED, values
    assert values["pps"] == values["min"] == values["max"] > 0, values
    assert values["base_pps"] > 0, values
    assert abs(values["ratio"] - values["pps"] / values["base_pps"]) < 0.001, values
    assert values["generator_bound"] in (0, 1), values
    assert 0.99 <= values["known"] <= 1, values


if __name__ == "__main__":
    check_usage()
    check_pair()
