# SPDX-License-Identifier: BSD-3-Clause
"""Five times the capacity of a service, without and with a window of Sluice's in front of it."""

import overload

TIMES, SECONDS = 5, 6
WINDOW = 8


def test_without_sluice_the_service_collapses(bridge_lab):
    lab = bridge_lab()
    result = overload.measured(overload.offer(lab, TIMES, SECONDS), "bridge")
    assert result["useful"] < 0.5 * SECONDS * overload.CAPACITY_PER_S
    # In the first second only, before the queue is as long as the patience of the clients.
    assert all(row["useful"] == 0 for row in result["series"][2:])
    # It works at full speed all the time, for clients that have gone.
    assert lab.backend()["served"] > 3 * result["useful"]


def test_with_a_window_it_does_not(make_lab):
    lab = make_lab(service=f'unit = "connection"; window = {WINDOW}; refuse = "rst";')
    warm = overload.measured(overload.offer(lab, 1, 2), "capacity")
    before = overload.memory_kib(lab.daemon)
    result = overload.measured(overload.offer(lab, TIMES, SECONDS), "overload")
    after = overload.memory_kib(lab.daemon)
    print(before, after)
    assert warm["useful"] > 0
    assert result["useful"] > 0.8 * SECONDS * overload.CAPACITY_PER_S
    assert result["late"] + result["unfinished"] == 0
    assert result["refused"] == result["refused_rst"]
    assert lab.backend()["in_queue_peak"] <= WINDOW
    assert after["VmData"] == before["VmData"]
    assert after["VmRSS"] - before["VmRSS"] < 1024  # pages of its tables that were not used before
