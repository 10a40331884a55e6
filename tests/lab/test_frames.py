# SPDX-License-Identifier: BSD-3-Clause
"""Frames that pass the gate come out as they went in, through real drivers on veth."""

import socket
import struct

import pytest
from scapy.all import ARP, ESP, ICMP, IP, TCP, UDP, Ether, IPv6, raw

import wire

# Locally administered addresses that nobody in the lab has: its stacks only look on.
SENDER, RECEIVER = "02:00:00:00:00:01", "02:00:00:00:00:02"
SENDER_BYTES = bytes.fromhex(SENDER.replace(":", ""))
TPIDS = {"customer": 0x8100, "service": 0x88A8}


def frame(packet):
    return raw(Ether(src=SENDER, dst=RECEIVER) / packet)


def ethertype(number, payload):
    return frame(b"")[:12] + struct.pack("!H", number) + payload


def tagged(data, *tags):
    """With tags (kind, VLAN id with priority), outer first."""
    stack = b"".join(struct.pack("!HH", TPIDS[kind], tci) for kind, tci in tags)
    return data[:12] + stack + data[12:]


def of_every_kind(src, dst):
    """name -> (frame, the `passes` counter that counts it on its way in)."""
    udp = frame(IP(src=src, dst=dst) / UDP(sport=5000, dport=5001) / b"question")
    options = b"\x07\x07\x04" + bytes(4) + b"\x00"  # record route, end of list
    return {
        "udp": (udp, "unnamed"),
        "full size": (frame(IP(src=src, dst=dst) / UDP(dport=5001) / bytes(1472)), "unnamed"),
        "tcp, not of a flow": (frame(IP(src=src, dst=dst) / TCP(sport=7, dport=7, flags="A")),
                               "unnamed"),
        "one tag": (tagged(udp, ("customer", 0x6064)), "unnamed"),
        "service tag": (tagged(udp, ("service", 100)), "unnamed"),
        "service and customer tag": (tagged(udp, ("service", 100), ("customer", 0xA0C8)),
                                     "unnamed"),
        "two customer tags": (tagged(udp, ("customer", 100), ("customer", 200)), "unnamed"),
        "tagged arp": (tagged(frame(ARP(psrc=src, pdst=dst)), ("customer", 100)), "control"),
        "ip options": (frame(IP(src=src, dst=dst, ihl=7, options=options) / UDP(dport=5001) /
                             b"x"), "unnamed"),
        "padding": (frame(IP(src=src, dst=dst) / UDP(sport=1, dport=5001) / b"y") +
                    bytes(range(1, 18)), "unnamed"),
        "arp": (frame(ARP(psrc=src, pdst=dst)), "control"),
        "unknown ethertype": (ethertype(0x88B5, bytes(range(50))), "control"),
        "802.3 length": (ethertype(38, b"\x42\x42\x03" + bytes(35)), "control"),
        "first fragment": (frame(IP(src=src, dst=dst, id=77, flags="MF") /
                                 UDP(sport=5000, dport=5001, len=364, chksum=0) / bytes(256)),
                           "unnamed"),
        "last fragment": (frame(IP(src=src, dst=dst, id=77, frag=33, proto=17) / bytes(100)),
                          "fragment"),
        "esp": (frame(IP(src=src, dst=dst) / ESP(spi=1, seq=2, data=bytes(40))), "other"),
        "echo request": (frame(IP(src=src, dst=dst) / ICMP() / b"ping"), "icmp"),
        "udp over ipv6": (frame(IPv6(src="2001:db8:1::1", dst="2001:db8:9::1") /
                                UDP(sport=5000, dport=5001) / b"six"), "unnamed"),
    }


def as_af_packet_gives(frames, src, dst):
    """net_af_packet has the kernel put IPv4 fragments together before it takes them (its fanout
    flag says so), and puts an outer tag that the kernel has taken off back as 0x8100 whatever it
    was. Both are the driver's own, and net_af_xdp does neither."""
    joined = frame(IP(src=src, dst=dst, id=77) /
                   UDP(sport=5000, dport=5001, len=364, chksum=0) / bytes(356))
    given = {name: (data[:12] + b"\x81\x00" + data[14:] if data[12:14] == b"\x88\xa8" else data,
                    counted)
             for name, (data, counted) in frames.items() if not name.endswith("fragment")}
    return given | {"joined fragments": (joined, "unnamed")}


def pass_through(lab, frames, expected, source, target):
    """Sends the frames from one (namespace, device) to another. What came out that was not
    expected, and the names of what was expected and did not come."""
    capture = wire.Capture(lab, *target, lambda f: not f.sent and f.data[6:12] == SENDER_BYTES)
    sender = wire.Sender(lab, *source)
    for data, _ in frames.values():
        sender.send(data)
    sender.close()
    capture.wait_for(len(expected), 3)
    came = [f.data for f in capture.stop()]
    return (sorted(set(came) - {data for data, _ in expected.values()}),
            [name for name, (data, _) in expected.items() if came.count(data) != 1])


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_frames_pass_byte_for_byte(make_lab, port):
    lab = make_lab(port=port)
    for src, dst, source, target in (
            ("10.1.0.1", "10.9.0.10", ("clients", "c0"), ("inside", "s0")),
            ("10.9.0.10", "10.1.0.1", ("inside", "s0"), ("clients", "c0"))):
        frames = of_every_kind(src, dst)
        expected = as_af_packet_gives(frames, src, dst) if port == "af_packet" else frames
        before = lab.worker()["passes"]
        assert pass_through(lab, frames, expected, source, target) == ([], [])
        after = lab.worker()["passes"]
        passed = {name: after[name] - before[name] for name in after}
        # The lab's own neighbour discovery is control traffic as well.
        assert passed.pop("control") >= 4
        counted = [name if source[0] == "clients" or name != "unnamed" else "inside"
                   for _, name in expected.values() if name != "control"]
        assert {name: n for name, n in passed.items() if n} == {
            name: counted.count(name) for name in counted}
    assert sum(lab.worker()["dropped"].values()) == 0


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_pages_pass(make_lab, port):
    lab = make_lab(port=port)
    result = lab.load(target="10.9.0.10", source="10.1.0.0/16", rate="50/s",
                      duration="2s").result()
    assert result["offered"] == result["useful"] == lab.tenant("acme")["admitted"] == 100
    assert [p["driver"] for p in lab.ask("ports")["ports"]] == [f"net_{port}"] * 2


def partial_checksum(segment, src, dst):
    """What a stack that leaves the rest to its device writes into the TCP checksum: RFC 9293
    section 3.1, the pseudo-header alone."""
    words = struct.unpack("!6H", socket.inet_aton(src) + socket.inet_aton(dst) +
                          struct.pack("!HH", socket.IPPROTO_TCP, len(segment)))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_case_A10_partial_checksums_are_no_malformed_frames(make_lab, port):
    """With the client's transmit offload on, veth carries TCP whose checksum nobody has finished.
    The gate judges and forwards it like any other; that the far end then drops it is the lab's
    affair (its remedy: ethtool -K c0 tx off, as the lab does by itself). A refusal has a checksum
    of its own and gets through."""
    lab = make_lab('window = 1;', port)
    lab.run("clients", "ethtool", "-K", "c0", "tx", "on")
    capture = wire.Capture(lab, "inside", "s0",
                           lambda f: not f.sent and f.data[12:14] == b"\x08\x00" and
                           f.data[23] == socket.IPPROTO_TCP)
    with pytest.raises(TimeoutError):
        wire.connect(lab, "10.1.0.1", 80, timeout=0.7)
    # The first SYN has the one slot; the second is refused, and told so.
    with pytest.raises(ConnectionRefusedError):
        wire.connect(lab, "10.1.0.2", 80)
    syn = capture.stop()[0].data
    segment = syn[34:]
    assert struct.unpack("!H", segment[16:18])[0] == partial_checksum(segment, "10.1.0.1",
                                                                      "10.9.0.10")
    tenant = lab.tenant("acme")
    assert (tenant["attempts"], tenant["admitted"], tenant["refused"]["share"]) == (2, 1, 1)
    assert lab.malformed() == {}
