# SPDX-License-Identifier: BSD-3-Clause
"""A tenant's attempts per second, from real clients to a real nginx."""

import socket
import statistics
import time

import pytest

import wire

RATE, BURST = 20, 10
HELD_UP_MAX_S = 0.1  # between the capture and the gate
QUOTA = f'quota = {{ attempts = "{RATE}/s"; attempts_burst = {BURST}; }};'
BLOCKED = 'quota = { attempts = 0; };'

ETHERNET_BYTES = 14
TCP_SYN, TCP_ACK = 0x02, 0x10


def syn_of_acme(frame):
    data = frame.data
    if not frame.sent or data[12:14] != b"\x08\x00" or data[23] != socket.IPPROTO_TCP:
        return False
    flags = data[ETHERNET_BYTES + 4 * (data[14] & 15) + 13]
    return data[26:28] == bytes([10, 1]) and flags & (TCP_SYN | TCP_ACK) == TCP_SYN


def test_quota_admits_its_burst_and_its_rate_and_leaves_others_alone(make_lab):
    lab = make_lab(QUOTA)
    capture = wire.Capture(lab, "clients", "c0", syn_of_acme)
    # 10.02 s from first to last SYN, if nothing else is done by this machine.
    acme = lab.load(target="10.9.0.10", source="10.1.0.0/16", rate="100/s", duration="10030ms")
    globex = lab.load(target="10.9.0.10", source="10.2.0.0/16", rate="20/s", duration="10s")
    acme, globex, syns = acme.result(), globex.result(), capture.stop()

    span_s = syns[-1].time_s - syns[0].time_s
    allowed = 1 + BURST + RATE * span_s
    tenant = lab.tenant("acme")
    print(f"acme: admitted {tenant['admitted']} of {acme['offered']} in {span_s:.3f} s, "
          f"1 + burst + rate * T = {allowed:.1f}, "
          f"median time to refusal {acme['refusal_p50_ms']} ms")
    assert acme["offered"] == 1003 and acme["not_sent"] == 0
    assert len(syns) == tenant["attempts"] == tenant["attempt_packets"] == 1003
    assert 9 < span_s < 12
    assert allowed - 3 <= tenant["admitted"] <= allowed + RATE * HELD_UP_MAX_S
    # Whoever was admitted got its page, whoever was not was told so by a reset.
    assert acme["useful"] == tenant["admitted"]
    assert acme["refused_rst"] == 1003 - tenant["admitted"] == tenant["refused"]["rate"]
    assert lab.service()["answered"] == acme["refused_rst"]
    assert lab.worker()["answered"] == acme["refused_rst"]

    assert globex["offered"] == globex["useful"] == lab.tenant("globex")["admitted"] == 200
    assert sum(lab.tenant("globex")["refused"].values()) == 0


def test_a_refused_connect_says_connection_refused(make_lab):
    lab = make_lab(BLOCKED)
    took_ms = []
    for _ in range(50):
        start = time.monotonic()
        with pytest.raises(ConnectionRefusedError):
            wire.connect(lab, "10.1.0.1", 80)
        took_ms.append((time.monotonic() - start) * 1000)
    median_ms = statistics.median(took_ms)
    print(f"connect() is refused after {median_ms:.2f} ms (median), {max(took_ms):.2f} ms at most")
    assert median_ms < 100
    tenant = lab.tenant("acme")
    assert (tenant["attempts"], tenant["admitted"], tenant["refused"]["rate"]) == (50, 0, 50)
    assert lab.service()["answered"] == 50
    # The service has seen nothing of it.
    assert lab.backend()["connections"]["total"] == 0
