# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tests of this folder; exits 77 and says why where that is not possible."""

import os
import sys

for module, package in (("pytest", "python3-pytest"), ("scapy", "python3-scapy")):
    try:
        __import__(module)
    except ImportError:
        print(f"{module} is not installed ({package})")
        sys.exit(77)

import pytest  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", here, *sys.argv[1:]]))
