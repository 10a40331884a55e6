# SPDX-License-Identifier: BSD-3-Clause
"""Runs sluice-load for the tests here."""

import json
import os
import subprocess

SLUICE_LOAD = os.environ["SLUICE_LOAD"]

OUTCOMES = ["useful", "late", "unfinished", "refused_rst", "refused_timeout", "refused_429",
            "refused_403", "refused_503", "refused_servfail", "refused_refused",
            "refused_unreachable", "refused_other", "not_sent"]


def run(port, *options, host="127.0.0.1", rate="100/s"):
    words = ["--rate", rate] if rate else []
    done = subprocess.run([SLUICE_LOAD, "--target", f"{host}:{port}", *words, "-d", "100ms",
                           *options], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done


def measure(port, *options, **more):
    result = json.loads(run(port, "-j", *options, **more).stdout)
    assert result["offered"] == sum(result[name] for name in OUTCOMES)
    assert result["refused"] == sum(result[name] for name in OUTCOMES if name.startswith("refused"))
    return result


def only(name, count=10):
    return {**{outcome: 0 for outcome in OUTCOMES}, name: count}


def outcomes(result):
    return {name: result[name] for name in OUTCOMES}
