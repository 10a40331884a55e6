# SPDX-License-Identifier: BSD-3-Clause
"""Frames as clients and services send them, as bytes."""

import struct

from scapy.all import IP, TCP, UDP, Ether, IPv6, raw

OUTSIDE_MAC = "02:00:00:00:00:01"  # of the clients' router
INSIDE_MAC = "02:00:00:00:00:02"  # of the services

CLIENT = "10.1.0.1"
SERVICE = "10.9.0.10"
CLIENT6 = "2001:db8:1::1"
SERVICE6 = "2001:db8:9::10"

IP_OFFSET = 14  # without tags


def inward(packet):
    """From the outside to the inside."""
    return raw(Ether(src=OUTSIDE_MAC, dst=INSIDE_MAC) / packet)


def outward(packet):
    return raw(Ether(src=INSIDE_MAC, dst=OUTSIDE_MAC) / packet)


def ip(src, dst, **fields):
    return IPv6(src=src, dst=dst, **fields) if ":" in src else IP(src=src, dst=dst, **fields)


def tagged(frame, *tags):
    """The frame with (TPID, VLAN id) tags, outer first."""
    return frame[:12] + b"".join(struct.pack("!HH", tpid, vid) for tpid, vid in tags) + frame[12:]


class Conversation:
    """One client port and one service port."""

    def __init__(self, sport, dport, src=CLIENT, dst=SERVICE):
        self.sport, self.dport, self.src, self.dst = sport, dport, src, dst


class Tcp(Conversation):
    """A connection from SYN to close; sequence numbers are right for an empty exchange."""

    def __init__(self, sport, dport=80, src=CLIENT, dst=SERVICE, isn=1000):
        super().__init__(sport, dport, src, dst)
        self.isn = isn

    def sent(self, flags, payload=b"", seq=None, ack=None):
        """From the client."""
        fresh = "S" in flags and "A" not in flags
        header = TCP(sport=self.sport, dport=self.dport, flags=flags,
                     seq=self.isn + (not fresh) if seq is None else seq,
                     ack=(0 if fresh else 5001) if ack is None else ack)
        return inward(ip(self.src, self.dst) / header / payload)

    def replied(self, flags, payload=b"", seq=None, ack=None):
        """From the service."""
        header = TCP(sport=self.dport, dport=self.sport, flags=flags,
                     seq=5000 + ("S" not in flags) if seq is None else seq,
                     ack=self.isn + 1 if ack is None else ack)
        return outward(ip(self.dst, self.src) / header / payload)

    def syn(self, payload=b""):
        return self.sent("S", payload)

    def open_at(self, trace, at):
        """The handshake, 1 ms a step."""
        trace.outside(at, self.syn())
        trace.inside(at + 0.001, self.replied("SA"))
        trace.outside(at + 0.002, self.sent("A"))

    def close_at(self, trace, at):
        """FIN both ways, 1 ms a step."""
        trace.outside(at, self.sent("FA"))
        trace.inside(at + 0.001, self.replied("FA"))
        trace.outside(at + 0.002, self.sent("A"))


class Dialogue(Tcp):
    """A connection that is asked and answers, with the sequence numbers that follow from it."""

    said = heard = 0  # bytes of the client's, of the service's

    def asks(self, payload=b"GET / HTTP/1.1\r\n\r\n", flags="PA"):
        frame = self.sent(flags, payload, seq=self.isn + 1 + self.said, ack=5001 + self.heard)
        self.said += len(payload) + ("F" in flags)
        return frame

    def answers(self, payload=b"HTTP/1.1 200 OK\r\n\r\n", flags="PA"):
        frame = self.replied(flags, payload, seq=5001 + self.heard, ack=self.isn + 1 + self.said)
        self.heard += len(payload) + ("F" in flags)
        return frame


class Udp(Conversation):
    def __init__(self, sport, dport=53, src=CLIENT, dst=SERVICE):
        super().__init__(sport, dport, src, dst)

    def asked(self, payload=b"?"):
        return inward(ip(self.src, self.dst) / UDP(sport=self.sport, dport=self.dport) / payload)

    def replied(self, payload=b"!"):
        return outward(ip(self.dst, self.src) / UDP(sport=self.dport, dport=self.sport) / payload)


def folded(address, port):
    """What a client's address and port add to the exclusive-or that chooses the owner."""
    high, low = struct.unpack("!HH", bytes(int(byte) for byte in address.split(".")))
    return high ^ low ^ port


def together(n, kind=Tcp, network="10.1", **more):
    """
    Conversations of n clients that all belong to one worker, whichever it is, on whatever network:
    waiters are released in order, and in the time of the one who frees a slot, on one worker.
    """
    owner = folded("10.1.0.1", 40000)
    sources = [f"{network}.{i // 250}.{i % 250 + 1}" for i in range(n)]
    return [kind(owner ^ folded(source, 0), src=source, **more) for source in sources]


def updated(checksum, old, new):
    """A checksum after the words `old` became `new` (RFC 1624)."""
    words = struct.unpack(f"!{len(old + new) // 2}H",
                          bytes(byte ^ 0xFF for byte in old) + new)
    total = sum(words, checksum ^ 0xFFFF)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def readdressed(frame, src, sport):
    """A plain IPv4 TCP frame as another client sends it; a hundred times faster than scapy."""
    out, address = bytearray(frame), bytes(int(byte) for byte in src.split("."))
    port, old = struct.pack("!H", sport), frame[26:30]
    for at, before, after in ((24, old, address), (50, old + frame[34:36], address + port)):
        checksum, = struct.unpack_from("!H", out, at)
        struct.pack_into("!H", out, at, updated(checksum, before, after))
    out[26:30], out[34:36] = address, port
    return bytes(out)


def stray(sport, ip_bytes, src=CLIENT, dst=SERVICE, dport=80):
    """Data of a connection that began before the gateway did, `ip_bytes` long by its IP header."""
    return Tcp(sport, dport, src, dst).sent("A", bytes(ip_bytes - 40))
