# SPDX-License-Identifier: BSD-3-Clause
import ctypes
import itertools
import os
import shutil
import socket
import subprocess

import pytest

from lab import PROGRAMS, Lab, Unavailable, config

PR_SET_CHILD_SUBREAPER = 36
AF_XDP = 44
COMMANDS = ["ip", "ethtool", "nsenter", "setsid", "nginx", "sysctl", "ps"]

numbers = itertools.count(1)


def missing():
    """Why no lab can be brought up here; None if one can."""
    if os.geteuid() != 0:
        return "lab tests need root (network namespaces)"
    for command in COMMANDS:
        if not shutil.which(command):
            return f"{command} is missing; see tools/packages"
    for program in PROGRAMS:
        if not os.access(program, os.X_OK):
            return f"{program} is not built"
    probe = subprocess.run(["unshare", "--net", "ip", "link", "add", "type", "veth"],
                           capture_output=True, text=True, check=False)
    return f"no network namespaces or veth here: {probe.stderr}" if probe.returncode else None


@pytest.fixture(scope="session")
def machine():
    why = missing()
    if why:
        pytest.skip(why)
    # Orphans of the lab's script become children of this process, which thus sees them end.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def need_af_xdp():
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
    except OSError as error:
        pytest.skip(f"no AF_XDP in this kernel: {error}")


@pytest.fixture
def make_lab(machine, tmp_path):
    """make_lab(acme=..., port=..., rtt=..., xdp=..., workers=...): a lab that is up; what holds of any
    lab is asserted at the end, and it is always taken down. `xdp` is the script's words of it."""
    labs = []

    def make(acme="", port="af_packet", rtt=None, xdp=(), **more):
        if port == "af_xdp":
            need_af_xdp()
        words = [*xdp, *(["--rtt", rtt] if rtt else [])]
        lab = Lab(f"test{os.getpid()}-{next(numbers)}", tmp_path)
        labs.append(lab)
        try:
            return lab.up(config(acme, **more), port, *words)
        except Unavailable as why:
            labs.remove(lab)
            pytest.skip(f"{port} does not come up here: {why}")

    yield make
    try:
        for lab in labs:
            if lab.daemon:
                lab.check_always()
    finally:
        for lab in labs:
            lab.down()


@pytest.fixture
def bridge_lab(machine, tmp_path):
    """bridge_lab("--rtt", "50ms"): a lab with a bridge in place of Sluice, always taken down."""
    lab = Lab(f"test{os.getpid()}-{next(numbers)}", tmp_path)
    yield lab.up_without
    lab.down()
