# SPDX-License-Identifier: BSD-3-Clause
"""An output that takes nothing for a while."""

import socket
import time

import pytest
from scapy.all import IP, UDP, Ether, raw

import wire
from lab import until

SENDER = b"\x02\x00\x00\x00\x00\x01"
CYCLES = 20
BATCH, PAUSE_S = 50, 0.005
SENT_DOWN, SENT_UP = 2500, 600
RING = 1024  # what an output may still take, and deliver later
CHECKED = 3000


def flood_frame():
    """To an address that no service names: passes unasked, and nobody answers."""
    return raw(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") /
               IP(src="10.1.0.1", dst="10.8.0.1") / UDP(sport=9, dport=9) / bytes(64))


def send(sender, frame, count):
    """In batches with pauses, which leave the gate the time it needs."""
    for _ in range(count // BATCH):
        for _ in range(BATCH):
            sender.send(frame)
        time.sleep(PAUSE_S)


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_case_G02_a_stalled_output_costs_no_buffers_and_stops_nobody(make_lab, port):
    lab = make_lab(port=port)
    sender, frame = wire.Sender(lab, "clients", "c0"), flood_frame()
    for _ in range(CYCLES):
        lab.run("gateway", "ip", "link", "set", "g1", "down")
        before = lab.worker()["received"]
        send(sender, frame, SENT_DOWN)
        # The receive side goes on whatever becomes of the transmit side.
        assert until(2, lambda: lab.worker()["received"] - before >= 0.95 * SENT_DOWN), (
            before, lab.worker())
        lab.run("gateway", "ip", "link", "set", "g1", "up")
        send(sender, frame, SENT_UP)
    # A buffer lost with each would have emptied the pool, of some 20000, long ago.
    failed = lab.worker()["tx_failed"]
    print(f"{port}: {CYCLES * SENT_DOWN} frames sent while g1 was down, tx_failed {failed}")
    assert failed >= CYCLES * (0.95 * SENT_DOWN - RING)

    capture = wire.Capture(lab, "inside", "s0", lambda f: not f.sent and f.data[6:12] == SENDER)
    time.sleep(0.5)
    late = len(capture.frames)
    send(sender, frame, CHECKED)
    sender.close()
    arrived = capture.wait_for(late + CHECKED, 5)
    frames = capture.stop()
    assert arrived, (late, len(frames))
    assert {f.data for f in frames} == {frame}
    with wire.connect(lab, "10.1.0.1", 80) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert client.recv(4096, socket.MSG_WAITALL).startswith(b"HTTP/1.1 200")
