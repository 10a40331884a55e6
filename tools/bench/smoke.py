#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A few packets through every row of sluice-bench: did each row come out, in the shape promised?

The program itself fails when packets did not meet with what their row claims. No cycle count is
judged here.
"""
import json
import re
import subprocess
import sys

ROWS = ["decision_charge", "decision_admit", "decision_refuse", "decision_full_admit",
        "decision_full_wait", "decision_full_shed", "decision_full_capacity",
        "decision_full_repeat", "known", "known_exchange", "new", "refused"]
ON_REQUEST = ["lookup_" + name for name in (
    "tenant", "tenant_fib", "tenant_fib512", "tenant_lpm", "mixed", "mixed_fib", "mixed_fib512",
    "mixed_lpm", "v6", "v6_fib6", "v6_fib6_512", "flow", "flow_rte_hash", "flow_jhash")]
LEASES = [f"leases_{rate}M_{load}x_w{workers}"
          for rate in (1, 10) for load in (1, 5) for workers in (1, 2, 4, 8, 16)]
FLOWS = [1, 3000]
TENANTS = [7, 50]
RUNS = 2
PACKETS = 5000
KEYS = ["row", "ports", "flows", "tenants", "order", "forwards", "cycles", "ns", "base_cycles", "delta",
        "ratio", "min", "max", "base_min", "base_max", "runs", "packets", "per_second", "compiler"]
NOT_NEW_TWICE = "sluice-bench: row new is left out with order zipf: no flow is new twice\n"


def run(bench, *arguments):
    return subprocess.run([bench, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)


def measure(bench, *arguments):
    done = run(bench, "--memory", "none", "--runs", str(RUNS), "--packets", str(PACKETS),
               "--flows", ",".join(map(str, FLOWS)), *arguments)
    assert done.returncode == 0, done.stderr
    return done


def tenants_of(row, flows):
    if row.startswith(("decision", "lookup", "leases")):
        return [flows]
    return sorted({min(flows, tenants) for tenants in TENANTS})


def more_keys(row):
    if row.startswith("leases"):
        return ["workers", "rate", "load", "atomics_per_packet"]
    if row.startswith("lookup_flow"):
        return ["bytes", "resident_bytes", "absent"]
    return ["prefixes", "bytes", "build_ms"] if row.startswith("lookup") else []


def check_line(line, row, flows, tenants, order):
    values = json.loads(line)
    assert list(values) == KEYS + more_keys(row), line
    fixed = {"row": row, "ports": 2, "flows": flows, "tenants": tenants, "order": order,
             "forwards": row in ("known", "known_exchange", "new", "refused"), "runs": RUNS, "packets": PACKETS}
    assert {key: values[key] for key in fixed} == fixed, line
    assert 0 < values["min"] <= values["cycles"] <= values["max"], line
    assert 0 < values["base_min"] <= values["base_cycles"] <= values["base_max"], line
    assert values["ns"] > 0 and values["base_cycles"] > 0, line
    # Each figure is rounded by itself, to a hundredth; the ratio to a thousandth.
    rounding = sum(0.005 / values[key] for key in ("cycles", "base_cycles", "ns"))
    assert abs(values["delta"] - (values["cycles"] - values["base_cycles"])) < 0.02, line
    assert abs(values["ratio"] - values["cycles"] / values["base_cycles"]) <= 0.001 + rounding * values["ratio"], line
    assert abs(values["per_second"] * values["ns"] / 1e9 - 1) < 0.001 + rounding, line
    assert re.fullmatch(r"(gcc|clang) \d+\.\d+\.\d+ -O\w", values["compiler"]), line


def check_rows(lines, rows, orders=("random",)):
    expected = [(row, flows, tenants, order) for row in rows for order in orders
                for flows in FLOWS for tenants in tenants_of(row, flows)
                if (row, order) != ("new", "zipf")]
    assert len(lines) == len(expected), lines
    for line, case in zip(lines, expected):
        check_line(line, *case)


def check_json(bench):
    done = measure(bench, "-j", "--tenants", ",".join(map(str, TENANTS)), "--order", "random,zipf")
    assert done.stderr == NOT_NEW_TWICE, done.stderr
    check_rows(done.stdout.splitlines(), ROWS, ("random", "zipf"))


def check_lookups(bench):
    rows = ON_REQUEST
    with open("/proc/cpuinfo", encoding="ascii") as file:
        if "avx512f" not in file.read():
            rows = [row for row in rows if not row.endswith("512")]
            print("skipped: the lookups by AVX-512, which this CPU does not have")
    check_rows(measure(bench, "-j", "--rows", ",".join(rows)).stdout.splitlines(), rows)


def check_leases(bench):
    lines = measure(bench, "-j", "--rows", ",".join(LEASES)).stdout.splitlines()
    check_rows(lines, LEASES)
    values = {(line["row"], line["flows"]): line for line in map(json.loads, lines)}
    # Four atomic operations for each lot: of rate x 50 us, and of 64 at most.
    assert values["leases_1M_1x_w1", 1]["atomics_per_packet"] == 4 / 50
    assert values["leases_10M_1x_w1", 1]["atomics_per_packet"] == 4 / 64
    for (row, flows), line in values.items():
        assert row == f"leases_{line['rate'] // 10**6}M_{line['load']}x_w{line['workers']}", line


def check_table(bench):
    lines = measure(bench, "--rows", "known,refused").stdout.splitlines()
    assert [line[:1] for line in lines[:3]] == ["#", "#", "#"], lines
    assert lines[3].split()[:5] == ["row", "flows", "tenants", "order", "cycles"], lines
    assert [line.split()[:4] for line in lines[4:]] == [
        [row, str(flows), str(min(flows, 100)), "random"]
        for row in ("known", "refused") for flows in FLOWS], lines
    assert len({len(line) for line in lines[3:]}) == 1, "columns are aligned"


def check_usage(bench):
    for wrong in (["--rows", "knwon"], ["--flows", "0"], ["--flows", "1,"], ["--runs", "0"],
                  ["--packets", "x"], ["--memory", "some"], ["--tenants", "1,65537"],
                  ["--order", "zip"], ["--order", "random,random,zipf"], ["--seed", "1,2"],
                  ["--rows", "new", "--order", "zipf"], ["--wrong"], ["more"]):
        done = run(bench, *wrong)
        assert (done.returncode, done.stdout) == (2, ""), wrong
        assert done.stderr, wrong


if __name__ == "__main__":
    check_usage(sys.argv[1])
    check_json(sys.argv[1])
    check_lookups(sys.argv[1])
    check_leases(sys.argv[1])
    check_table(sys.argv[1])
