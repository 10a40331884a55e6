# SPDX-License-Identifier: BSD-3-Clause
"""A tenant's window, as the service behind the gate counts it."""

import pytest

import wire
from lab import until

ACME = "10.1.0.0/16"
BACKEND_PORT = 8081


def assert_all_ended_by_themselves(lab):
    """Slots come back with the end of the work, not by ageing."""
    service = lab.service()
    assert service["outcomes"] == {"finished": service["admitted"], "reset": 0, "aborted": 0,
                                   "aged": 0}
    assert lab.worker()["aged_slots"] == 0


def test_a_window_of_five_admits_five_connections_and_no_more(make_lab):
    lab = make_lab("window = 5;")
    globex = lab.load(target="10.9.0.10:8081", source="10.2.0.0/16", rate="20/s", duration="5s")
    held = [wire.connect(lab, f"10.1.0.{1 + i % 4}", BACKEND_PORT) for i in range(5)]
    for i in range(15):
        with pytest.raises(ConnectionRefusedError):
            wire.connect(lab, f"10.1.0.{1 + i % 4}", BACKEND_PORT)
    assert lab.tenant("acme")["window"] == {"limit": 5, "used": 5, "peak": 5, "debt": 0}
    assert lab.tenant("acme")["refused"]["share"] == 15
    # One leaves, one may enter.
    held.pop().close()
    assert until(2, lambda: lab.tenant("acme")["window"]["used"] == 4)
    held.append(wire.connect(lab, "10.1.0.1", BACKEND_PORT))
    with pytest.raises(ConnectionRefusedError):
        wire.connect(lab, "10.1.0.2", BACKEND_PORT)
    for client in held:
        client.close()
    assert lab.backend_peak(ACME) == 5
    globex = globex.result()
    assert globex["offered"] == globex["useful"] == 100
    assert until(2, lambda: lab.slots() == (0, 0, 0))
    assert_all_ended_by_themselves(lab)


def test_a_window_of_five_holds_under_overload(make_lab):
    lab = make_lab("window = 5;")
    acme = lab.load(target="10.9.0.10:8081", source="10.1.0.0/16", rate="400/s", duration="6s")
    globex = lab.load(target="10.9.0.10:8081", source="10.2.0.0/16", rate="20/s", duration="6s")
    acme, globex = acme.result(), globex.result()
    tenant = lab.tenant("acme")
    print(f"acme: offered {acme['offered']}, useful {acme['useful']}, "
          f"globex: useful {globex['useful']} of {globex['offered']}")
    assert lab.backend_peak(ACME) == 5
    assert tenant["window"]["peak"] == 5
    assert acme["offered"] == 2400 and acme["not_sent"] == 0
    assert acme["useful"] == tenant["admitted"]
    assert acme["refused_rst"] == tenant["refused"]["share"] == 2400 - tenant["admitted"]
    # Five in flight keep four slots busy: at least half of what the service can do goes to acme.
    assert acme["useful"] > 6 * 85
    assert globex["offered"] == globex["useful"] == 120
    assert until(2, lambda: lab.slots() == (0, 0, 0))
    assert_all_ended_by_themselves(lab)
