# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/compare.py: what it prints of two small files, to the letter."""

import json
import os
import subprocess

import pytest

COMPARE = os.path.join(os.path.dirname(__file__), "../../tools/bench/compare.py")


def row(name="known", flows=10000, tenants=100, order="random", cycles=120, low=118, high=125, base=20,
        bases=None, **more):
    base_min, base_max = bases or (base, base)
    return {"row": name, "ports": 2, "flows": flows, "tenants": tenants, "order": order,
            "cycles": cycles, "ns": 1, "base_cycles": base, "delta": cycles - base,
            "ratio": cycles / base, "min": low, "max": high, "base_min": base_min,
            "base_max": base_max, "runs": 5, **more}


def counted(name="known", instructions=660, base=40, **more):
    return {"row": name, "ports": 2, "flows": 1, "tenants": 1, "order": "random",
            "instructions": instructions, "base_instructions": base, "delta": instructions - base,
            **more}


def port(pps=8000000, base=10000000, low=0.75, high=0.85, **more):
    return {"row": "port_memif", "ports": 2, "flows": 20000, "tenants": 1, "order": "cyclic",
            "pps": pps, "base_pps": base, "ratio": pps / base, "min": pps - 1, "max": pps + 1,
            "ratio_min": low, "ratio_max": high, **more}


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    """Writes both files, a list of rows or a text, and compares them."""
    def run(a, b, *options):
        for name, what in (("a", a), ("b", b)):
            if what is not None:
                text = what if isinstance(what, str) else "".join(json.dumps(r) + "\n" for r in what)
                (tmp_path / name).write_text(text)
        done = subprocess.run(["/usr/bin/python3", COMPARE, "a", "b", *options], cwd=tmp_path, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr
    return run


A = [row("decision_charge", 1, 1, cycles=16, low=15, high=17, forwards=False),
     row(), row(order="zipf", cycles=100, low=99, high=101),
     row("new", 1000000, cycles=820, low=800, high=850), row("refused")]
B = [row("new", 1000000, cycles=660, low=640, high=700),
     row(cycles=130, low=124, high=133), row(order="zipf", cycles=110, low=108, high=112),
     row("decision_charge", 1, 1, cycles=20, low=19, high=21, forwards=False),
     row("known", 1, 1)]

TABLE = """\
row                flows  tenants  order   ratio A  ratio B  delta A  delta B   change
decision_charge        1        1  random     0.80     1.00     -4.0      0.0  +25.0 %  real
known              10000      100  random     6.00     6.50    100.0    110.0  +10.0 %  within noise
known              10000      100  zipf       5.00     5.50     80.0     90.0  +12.5 %  real
new              1000000      100  random    41.00    33.00    800.0    640.0  -20.0 %  real
only in a: refused, ports 2, flows 10000, tenants 100, order random
only in b: known, ports 2, flows 1, tenants 1, order random
"""


def test_table(run):
    assert run(A, B) == (0, TABLE, "")


def test_json(run):
    head = '"ports":2,"flows":10000,"tenants":100,"order":"random"'
    assert run([row(), row("refused")], [row(cycles=130, low=126, high=133), row("new")], "-j") == (
        0,
        '{"row":"known",%s,"ratio_a":6.0,"ratio_b":6.5,"delta_a":100,"delta_b":110,'
        '"change_percent":10.0,"real":true}\n'
        '{"row":"refused",%s,"only_in":"a"}\n{"row":"new",%s,"only_in":"b"}\n' % (head, head, head), "")


def test_what_the_base_did_counts(run):
    """A base that moved within its own range moves the ratio, and that is no change of the row."""
    a, b = row(cycles=150, low=148, high=152, base=15, bases=(14, 18)), \
        row(cycles=154, low=152, high=156, base=18, bases=(15, 18))
    assert json.loads(run([a], [b], "-j")[1])["real"] is False
    a["base_max"] = b["base_min"] = 15
    assert json.loads(run([a], [{**b, "base_min": 17}], "-j")[1])["real"] is True


def test_ranges_are_scaled_by_the_base(run):
    """A clock of twice the speed: every figure doubles, and nothing is real of it."""
    twice = row(cycles=240, low=236, high=250, base=40)
    doubled = json.loads(run([row()], [twice], "-j")[1])
    assert (doubled["change_percent"], doubled["real"]) == (0.0, False)
    assert json.loads(run([row()], [{**twice, "base_cycles": 20, "base_min": 20, "base_max": 20, "delta": 220}], "-j")[1])["real"] is True


def test_change_is_over_the_base_of_the_same_run(run):
    """More cycles, and more of them over the base, but less in units of it: 1.5 becomes 1.3."""
    a, b = row(cycles=100, low=99, high=101, base=40), row(cycles=115, low=114, high=116, base=50)
    assert run([a], [b], "--bound", "5") == (
        0,
        "row    flows  tenants  order   ratio A  ratio B  delta A  delta B   change\n"
        "known  10000      100  random     2.50     2.30     60.0     65.0  -13.3 %  real\n", "")
    alone = [{**one, "forwards": False} for one in (a, b)]
    assert "  2.50     2.30     60.0     65.0  -8.0 %  real\n" in run(alone[:1], alone[1:])[1]
    counts = [counted(instructions=100, base=40)], [counted(instructions=115, base=50)]
    assert "  60.0     65.0  -13.3 %  real\n" in run(*counts, "--bound", "5")[1]


def test_ports(run):
    """Here more is better, and the range is that of the ratios."""
    head = "row         flows  tenants  order   ratio A  ratio B  delta A  delta B   change\n"
    line = "port_memif  20000        1  cyclic     %s        -        -  %s\n"
    less = port(pps=7200000, low=0.70, high=0.74)
    assert run([port()], [less], "--bound", "10.1") == (
        0, head + line % ("0.80     0.72", "-10.0 %  real"), "")
    assert run([port()], [less], "--bound", "9.9")[0::2] == (
        1, "compare: port_memif, ports 2, flows 20000, tenants 1, order cyclic: "
           "-10.0 %, more than 9.9 %\n")
    assert run([less], [port(low=0.74)], "--bound", "1") == (
        0, head + line % ("0.72     0.80", "+11.1 %  within noise"), "")
    assert run([port()], [less], "-j")[1] == (
        '{"row":"port_memif","ports":2,"flows":20000,"tenants":1,"order":"cyclic","ratio_a":0.8,'
        '"ratio_b":0.72,"delta_a":null,"delta_b":null,"change_percent":-10.0,"real":true}\n')
    # A slower machine: a quarter of the packets, and nothing of it real.
    assert run([port()], [port(pps=2000000, base=2500000)], "--bound", "0")[0:2] == (
        0, head.replace("   change", "  change") + line % ("0.80     0.80", "+0.0 %  within noise"))


def test_ranges_that_touch_are_noise(run):
    assert json.loads(run([row()], [row(cycles=126, low=125, high=127)], "-j")[1])["real"] is False
    assert json.loads(run([row()], [row(cycles=127, low=126, high=128)], "-j")[1])["real"] is True
    assert json.loads(run([row(cycles=127, low=126, high=128)], [row()], "-j")[1])["real"] is True


def test_bound(run):
    known = "known, ports 2, flows 10000, tenants 100, order random"
    worse = [row(cycles=130)]
    assert run([row()], worse, "--bound", "10")[0::2] == (0, "")
    assert run([row()], worse, "--bound", "9.5")[0::2] == (
        1, f"compare: {known}: +10.0 %, more than 9.5 %\n")
    assert run(worse, [row()], "--bound", "1")[0::2] == (0, "")
    assert run([row(), row("new")], [row()], "--bound", "1")[0::2] == (
        1, "compare: new, ports 2, flows 10000, tenants 100, order random: was not measured again\n")
    assert run([row()], [row(), row("new")], "--bound", "1")[0] == 0


def test_bound_of_instructions(run):
    """Of the 620 over the base 10 % are 62; where nothing is forwarded, of all."""
    table = ("row    flows  tenants  order   ratio A  ratio B  delta A  delta B   change\n"
             "known      1        1  random    16.50    18.05    620.0    682.0  +10.0 %  real\n")
    assert run([counted()], [counted(instructions=722)], "--bound", "10") == (0, table, "")
    assert run([counted()], [counted(instructions=723)], "--bound", "10")[0] == 1
    alone = {"name": "decision_charge", "forwards": False}
    assert run([counted(instructions=100, **alone)], [counted(instructions=110, **alone)],
               "--bound", "10")[0] == 0
    assert run([counted(instructions=100, **alone)], [counted(instructions=111, **alone)],
               "--bound", "10")[0] == 1
    assert "+0.0 %  same\n" in run([counted()], [counted()])[1]


def test_no_percentage_of_nothing(run):
    code, out, err = run([row(cycles=20)], [row(cycles=21)], "--bound", "10")
    assert (code, out.splitlines()[1].split()[6:9]) == (1, ["0.0", "1.0", "-"])
    assert err.endswith(": 0.00 to 0.05 times the base, no percentage of which to take\n")
    assert run([row(cycles=20)], [row(cycles=20)], "--bound", "10")[0] == 0


@pytest.mark.parametrize("text, why", [
    ("{\n", "a:1: no JSON: Expecting property name enclosed in double quotes"),
    ("\n[]\n", "a:2: no object with a 'row'"),
    ('{"flows":1}\n', "a:1: no object with a 'row'"),
    ('{"row":"known","flows":[1]}\n', "a:1: 'flows' is no plain value"),
    ('{"row":"known"}\n', "a:1: no number 'cycles'"),
    (json.dumps({**row(), "min": "1"}), "a:1: no number 'min'"),
    (json.dumps({**row(), "base_cycles": 0}),
     "a:1: base_cycles is not above zero"),
    (json.dumps({**port(), "ratio": 0}), "a:1: ratio is not above zero"),
    (json.dumps({**port(), "ratio_max": None}), "a:1: no number 'ratio_max'"),
    (json.dumps(row()) + "\n" + json.dumps(row()),
     "a:2: a second line of known, ports 2, flows 10000, tenants 100, order random"),
    (None, "a: No such file or directory"),
])
def test_what_cannot_be_read(run, text, why):
    assert run(text, [row()]) == (2, "", f"compare: {why}\n")


def test_nothing_in_both(run):
    only = "only in %s: known, ports 2, flows %d, tenants 100, order random\n"
    assert run([row()], [row(flows=1)]) == (
        2, only % ("a", 10000) + only % ("b", 1), "compare: no row stands in both files\n")
    assert run([], []) == (2, "", "compare: no row stands in both files\n")


def test_cycles_and_instructions(run):
    assert run([row(flows=1, tenants=1)], [counted()]) == (
        2, "", "compare: known, ports 2, flows 1, tenants 1, order random: cycles in A, instructions in B\n")
