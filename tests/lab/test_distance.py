# SPDX-License-Identifier: BSD-3-Clause
"""The lab with a long wire to the clients."""

import json
import signal
import socket
import statistics
import subprocess
import time

import pytest
from scapy.all import IP, UDP, Dot1Q, Ether, raw

import wire
from lab import BUILD, until

RTT_MS = 50
RTT = f"{RTT_MS}ms"
WIRE = BUILD / "tools/lab/sluice-lab-wire"
MARK = b"numbered frame "


def connect_ms(lab):
    client = wire.socket_in(lab.namespace("clients"), socket.AF_INET, socket.SOCK_STREAM)
    with client:
        client.settimeout(10)
        start = time.monotonic()
        client.connect(("10.9.0.10", 80))
        return 1000 * (time.monotonic() - start)


def check_round_trip(lab):
    times = [connect_ms(lab) for _ in range(21)]
    print(f"round trip {min(times):.2f} to {max(times):.2f} ms")
    # The first includes that of ARP.
    assert times[0] >= 2 * RTT_MS
    assert min(times) >= RTT_MS
    assert statistics.median(times) < 1.6 * RTT_MS


def numbered(n, **ends):
    """Frames of all sizes up to the largest; every fourth has a tag, every eighth two."""
    frames = []
    for i in range(n):
        head = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        if i % 4 == 0:
            head /= Dot1Q(vlan=7)
        if i % 8 == 0:
            head /= Dot1Q(vlan=8)
        mark = MARK + b"%d " % i
        room = (1518 if i % 4 == 0 else 1514) - len(head) - len(IP() / UDP() / mark)
        frames.append(raw(head / IP(**ends) / UDP() / (mark + bytes(min(2 * i, room)))))
    return frames


def is_numbered(frame):
    return MARK in frame.data and not frame.sent


def test_a_round_trip_takes_as_long_as_was_asked_for(bridge_lab):
    check_round_trip(bridge_lab("--rtt", RTT))


def test_sluice_stands_at_the_far_end(make_lab):
    lab = make_lab(rtt=RTT)
    check_round_trip(lab)
    assert lab.tenant("default")["admitted"] == 21


@pytest.mark.parametrize("here, there", [(("clients", "c0"), ("inside", "s0")),
                                         (("inside", "s0"), ("clients", "c0"))])
def test_frames_arrive_whole_and_in_order(bridge_lab, here, there):
    lab = bridge_lab("--rtt", RTT)
    frames = numbered(1000, src="10.77.0.1", dst="10.77.0.2")
    capture, sender = wire.Capture(lab, *there, is_numbered), wire.Sender(lab, *here)
    for frame in frames:
        sender.send(frame)
    sender.close()
    assert capture.wait_for(1000, 5)
    time.sleep(0.2)  # would be enough for one that goes round
    assert [frame.data for frame in capture.stop()] == frames


def test_what_an_end_sends_itself_does_not_pass_the_wire(bridge_lab):
    lab = bridge_lab("--rtt", RTT)
    near = wire.Capture(lab, "clients", "c0", is_numbered)
    far = wire.Capture(lab, "gateway", "g0", is_numbered)
    sender = wire.Sender(lab, "distance", "d0")
    sender.send(numbered(1, src="10.77.0.1", dst="10.77.0.2")[0])
    sender.close()
    assert near.wait_for(1, 5)
    time.sleep(0.2)
    assert (len(near.stop()), len(far.stop())) == (1, 0)


@pytest.fixture(name="short_wire")
def fixture_short_wire(bridge_lab):
    """A lab whose wire has room for ten frames, and the wire."""
    lab = bridge_lab("--rtt", RTT)
    lab.processes["wire"].signal(signal.SIGTERM)
    assert lab.processes["wire"].wait(5) == 0
    command = lab.command("distance", WIRE, "d0", "d1", "--delay", "25ms", "--frames", 10)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert until(5, lambda: "promiscuity 1" in lab.run("distance", "ip", "-d", "link",
                                                               "show", "d1"))
            yield lab, process
        finally:
            process.kill()


def test_what_finds_no_room_is_dropped_and_counted(short_wire):
    lab, process = short_wire
    capture = wire.Capture(lab, "gateway", "g0", lambda frame: not frame.sent)
    sender = wire.Sender(lab, "clients", "c0")
    frames = numbered(1000, src="10.77.0.1", dst="10.77.0.2")
    for frame in frames:
        sender.send(frame)
    sender.close()
    time.sleep(0.2)
    process.terminate()
    report = json.loads(process.communicate(timeout=5)[0])
    arrived = capture.stop()
    there, back = report["ways"]
    print(report)
    assert process.returncode == 0
    assert (report["delay_us"], report["frames"]) == (25000, 10)
    assert (there["from"], there["to"], back["from"], back["to"]) == ("d0", "d1", "d1", "d0")
    assert there["received"] >= 1000
    assert there["queue_full"] == there["received"] - there["sent"] - there["under_way"] > 0
    assert there["under_way_peak"] == 10
    # What a namespace says by itself (ND) may have passed before the capture began, or be under way.
    ours = [frame.data for frame in arrived if MARK in frame.data]
    strangers = there["received"] - len(frames)
    assert len(ours) <= there["sent"] <= len(ours) + strangers
    assert there["under_way"] <= strangers
    assert [there[name] for name in ("too_long", "send_failed", "missed")] == 3 * [0]
    # Those that came first, and no copy.
    assert ours[:10 - strangers] == frames[:10 - strangers]
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("words", [
    ["d0", "d1"], ["d0", "--delay", "1ms"], ["d0", "d1", "d2", "--delay", "1ms"],
    ["d0", "d1", "--delay", "1"], ["d0", "d1", "--delay", "11s"], ["d0", "d1", "--delay", "-1ms"],
    ["d0", "d1", "--delay", "1ms", "--frames", "0"],
    ["d0", "d1", "--delay", "1ms", "--frames", "65537"]])
def test_what_cannot_be_used_is_told(machine, words):
    done = subprocess.run([WIRE, *words], capture_output=True, text=True, timeout=10, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: sluice-lab-wire" in done.stderr


def test_a_missing_interface_is_told(machine):
    done = subprocess.run([WIRE, "nowhere0", "nowhere1", "--delay", "1ms"], capture_output=True,
                          text=True, timeout=10, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sluice-lab-wire: nowhere0 and nowhere1: No such device\n"
