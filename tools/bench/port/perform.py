# SPDX-License-Identifier: BSD-3-Clause
"""What is around every measurement between ports: can it be made here, and is all well after it."""
import os
import pathlib
import signal
import sys

from gate import SLUICECTL, SLUICED
from rig import UNAVAILABLE, Unavailable, check_machine

PRIVATE = "SLUICE_PORT_PRIVATE"  # set when we are in a mount namespace of our own


def perform(options, measure):
    """Exit code of a program that does measure(options), which may raise RuntimeError."""
    name = pathlib.Path(sys.argv[0]).name
    try:
        check_machine(options.memory)
    except Unavailable as why:
        print(f"skipped: {why}", file=sys.stderr)
        return UNAVAILABLE
    for program in (SLUICED, SLUICECTL):
        if not program.exists():
            print(f"{name}: {program} is not there: build it, or say where by SLUICE_BUILD",
                  file=sys.stderr)
            return 1
    if options.memory == "huge" and PRIVATE not in os.environ:
        os.environ[PRIVATE] = "yes"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        measure(options)
    except RuntimeError as why:
        print(f"{name}: {why}", file=sys.stderr)
        return 1
    return 0
