# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/port: what it makes of its measurements, and which memory it asks for."""

import argparse
import importlib.machinery
import importlib.util
import os
import sys

import pytest

FOLDER = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../tools/bench/port"))
OPTIONS = argparse.Namespace(type="memif", flows=100, memory="huge", seconds=3.0)


@pytest.fixture(name="port", scope="module")
def fixture_port():
    sys.path.insert(0, FOLDER)
    loader = importlib.machinery.SourceFileLoader("port", os.path.join(FOLDER, "port"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("port", loader))
    loader.exec_module(module)
    yield module
    sys.path.remove(FOLDER)


def measured(port, monkeypatch, figures):
    """Pairs of (macswap's packets a second, its full, sluiced's packets a second, its full)."""
    pairs = []
    for number, (base, base_full, own, own_full) in enumerate(figures, 1):
        runs = [{"pps": base, "full": base_full, "known": None},
                {"pps": own, "full": own_full, "known": 1.0}]
        runs = iter(runs if number % 2 else reversed(runs))
        monkeypatch.setattr(port, "run", lambda *_, runs=runs: next(runs))
        pairs.append(port.run_pair(None, OPTIONS, number))
    return pairs


def test_pairs_that_the_generator_bound_are_marked(port, monkeypatch, capsys):
    pairs = measured(port, monkeypatch, [(10000000, 0.0199, 8000000, 0.3),
                                         (10000000, 0.02, 9000000, 0.0),
                                         (10000000, 0.0, 8500000, 0.0)])
    for number, pair in enumerate(pairs, 1):
        port.print_pair(number, pair)
    total = port.summary(OPTIONS, pairs)
    port.print_summary(total)
    assert capsys.readouterr().out == (
        "   1   10.000   2.0%    8.000  30.0% 100.000%  0.800  generator-bound\n"
        "   2   10.000   2.0%    9.000   0.0% 100.000%  0.900\n"
        "   3   10.000   0.0%    8.500   0.0% 100.000%  0.850  generator-bound\n"
        "port_memif: 8.500 Mpps (8.000 to 9.000), macswap 10.000, ratio 0.850 (0.800 to 0.900); "
        "2 of 3 pairs generator-bound, their ratios are upper bounds\n")
    assert total["generator_bound"] == 2


def test_summary_of_pairs_that_macswap_bound(port, monkeypatch, capsys):
    total = port.summary(OPTIONS, measured(port, monkeypatch, [(10000000, 0.4, 8000000, 0.0)]))
    port.print_summary(total)
    assert capsys.readouterr().out == (
        "port_memif: 8.000 Mpps (8.000 to 8.000), macswap 10.000, ratio 0.800 (0.800 to 0.800)\n")
    assert total["generator_bound"] == 0


@pytest.mark.parametrize("kind, memory, testpmd, gate", [
    ("memif", "huge", ["--huge-dir=/rig/huge", "--single-file-segments"], ["--huge-dir=/rig/huge"]),
    ("vhost", "huge", ["--huge-dir=/rig/huge", "--single-file-segments"],
     ["--huge-dir=/rig/huge", "--single-file-segments"]),
    ("memif", "none", ["--no-huge"], []),
])
def test_memory(port, monkeypatch, kind, memory, testpmd, gate):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    rig = port.Rig(kind, memory)
    rig.folder = "/rig"
    assert (rig.eal_memory(), rig.gate_memory()) == (testpmd, gate)
