#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A few packets through every row of sluice-bench: did each row come out, in the shape promised?

The program itself fails when packets did not meet with what their row claims. No cycle count is
judged here.
"""
import json
import subprocess
import sys

ROWS = ["decision_charge", "decision_admit", "decision_refuse", "known", "new", "refused"]
FLOWS = [1, 3000]
TENANTS = 7
RUNS = 2
PACKETS = 5000
KEYS = ["row", "ports", "flows", "tenants", "order", "cycles", "ns", "base_cycles", "delta",
        "ratio", "min", "max", "runs", "packets"]


def measure(bench, *arguments):
    command = [bench, "--memory", "none", "--runs", str(RUNS), "--packets", str(PACKETS),
               "--flows", ",".join(map(str, FLOWS)), "--tenants", str(TENANTS), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def tenants_of(row, flows):
    return flows if row.startswith("decision") else min(flows, TENANTS)


def check_line(line, row, flows):
    values = json.loads(line)
    assert list(values) == KEYS, line
    fixed = {"row": row, "ports": 2, "flows": flows, "tenants": tenants_of(row, flows),
             "order": "random", "runs": RUNS, "packets": PACKETS}
    assert {key: values[key] for key in fixed} == fixed, line
    assert 0 < values["min"] <= values["cycles"] <= values["max"], line
    assert values["ns"] > 0 and values["base_cycles"] > 0, line
    # Each figure is rounded by itself.
    assert abs(values["delta"] - (values["cycles"] - values["base_cycles"])) < 0.2, line
    assert abs(values["ratio"] - values["cycles"] / values["base_cycles"]) < 0.02 * values["ratio"], line


def check_json(bench):
    lines = measure(bench, "-j")
    expected = [(row, flows) for row in ROWS for flows in FLOWS]
    assert len(lines) == len(expected), lines
    for line, (row, flows) in zip(lines, expected):
        check_line(line, row, flows)


def check_table(bench):
    lines = measure(bench, "--rows", "known,refused")
    assert [line[:1] for line in lines[:2]] == ["#", "#"], lines
    assert lines[2].split()[:4] == ["row", "flows", "tenants", "cycles"], lines
    assert [line.split()[:2] for line in lines[3:]] == [
        [row, str(flows)] for row in ("known", "refused") for flows in FLOWS], lines
    assert len({len(line) for line in lines[2:]}) == 1, "columns are aligned"


def check_usage(bench):
    for wrong in (["--rows", "knwon"], ["--flows", "0"], ["--flows", "1,"], ["--runs", "0"],
                  ["--packets", "x"], ["--memory", "some"], ["--wrong"], ["more"]):
        done = subprocess.run([bench, *wrong], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        assert (done.returncode, done.stdout) == (2, ""), wrong
        assert done.stderr, wrong


if __name__ == "__main__":
    check_usage(sys.argv[1])
    check_json(sys.argv[1])
    check_table(sys.argv[1])
