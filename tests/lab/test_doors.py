# SPDX-License-Identifier: BSD-3-Clause
"""What else can stand at the gate: that each door lets pass, refuses, and goes away again. (The lab
asserts the last of these for any test.)"""

import re
import shutil

import pytest

import overload

QUIET, QUIET_PER_S = 20, 40
TIMES, SECONDS = 5, 2
# By how each of them refuses, as sluice-load calls it.
DOORS = {"haproxy": ("haproxy", ["refused_503"]),
         "nginx": ("nginx", ["refused_429", "refused_503"]),
         "nftables": ("nft", ["refused_rst"])}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_passes_what_is_little_and_refuses_what_is_too_much(bridge_lab, door):
    program, kinds = DOORS[door]
    if not shutil.which(program):
        pytest.skip(f"{program} is missing; see tools/packages")
    lab = bridge_lab("--with", door)
    # All that runs is the lab's, which sees it end.
    assert set(lab.processes) == {"backend", "nginx"} | ({"door"} if program == door else set())
    target = re.search(r" target=(\S+)", lab.script("status").stdout)[1]

    quiet = overload.offer(lab, 1, capacity_per_s=QUIET_PER_S, target=target,
                           duration=f"{1000 * QUIET // QUIET_PER_S}ms")
    quiet = overload.measured(quiet, f"{door}, quiet")
    assert quiet["useful"] == quiet["offered"] == QUIET

    result = overload.offer(lab, TIMES, SECONDS, target=target, poisson=True)
    result = overload.measured(result, f"{door}, {TIMES}x")
    assert result["useful"] >= 0.5 * SECONDS * overload.CAPACITY_PER_S
    assert result["refused"] >= 0.8 * (TIMES - 1) * SECONDS * overload.CAPACITY_PER_S
    assert result["refused"] == sum(result[kind] for kind in kinds)
    assert result["refusal_p50_ms"] < 50  # half of what its queue may take
    assert result["late"] + result["unfinished"] == 0
    # Nobody got past the door.
    assert lab.backend()["served"] == QUIET + result["useful"]
