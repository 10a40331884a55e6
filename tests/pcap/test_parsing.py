# SPDX-License-Identifier: BSD-3-Clause
"""Headers that hide who asks for what, and frames that are none."""

import struct

from scapy.all import (IP, TCP, UDP, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop,
                       IPv6ExtHdrRouting, raw)

from frames import CLIENT, CLIENT6, IP_OFFSET, SERVICE, SERVICE6, Tcp, inward, outward, tagged
from gate import Trace

IP_BYTES, IPV6_BYTES, TCP_BYTES, UDP_BYTES = 20, 40, 20, 8
ETHERNET_BYTES = 14


def service(name, protocol, port, **more):
    return {"name": name, "addresses": [SERVICE, SERVICE6], "protocol": protocol, "ports": [port],
            "refuse": "drop", **more}


def acme(attempts, **more):
    """Exactly so many attempts."""
    return {"name": "acme", "prefixes": ["10.1.0.0/16", "2001:db8:1::/48"],
            "quota": {"attempts": "1/day", "attempts_burst": attempts - 1, **more}}


def test_case_A01_tags_do_not_get_around_the_quota(gate):
    stacks = [(), ((0x8100, 5),), ((0x88A8, 6), (0x8100, 5)), ((0x8100, 8), (0x8100, 5))]
    deep = ((0x88A8, 7), (0x8100, 6), (0x8100, 5))
    trace = Trace()
    for i in range(100):
        syn = Tcp(40000 + i).syn()
        for stack in (*stacks, deep):
            trace.outside(1 + i / 1000, tagged(syn, *stack))
    default = {"name": "default", "quota": {"attempts": "1/day", "attempts_burst": 4}}
    result = gate([default, acme(10)], [service("web", "tcp", 80)]).play(trace)

    assert result.tenants["acme"]["attempts"] == 400
    assert result.tenants["acme"]["admitted"] == 10
    assert result.refusals("acme") == {"rate": 390}
    assert result.tenants["default"]["attempts"] == 100
    assert result.tenants["default"]["admitted"] == 5
    assert result.refusals("default") == {"rate": 95}
    assert result.passes() == {"attempt": 10, "deep_vlan": 5}
    assert result.drops() == {"rate": 485}
    assert [f for f in result.to_inside if f[12:14] == b"\x88\xa8" and f[20:22] == b"\x81\x00"] == [
        tagged(Tcp(40000 + i).syn(), *deep) for i in range(5)]


def with_options(frame, options, ihl=None):
    """An IPv4 frame with option bytes, lengths and checksum made right but for `ihl`."""
    ip = bytearray(frame[IP_OFFSET:IP_OFFSET + IP_BYTES] + options)
    ip[0] = 0x40 | (len(ip) // 4 if ihl is None else ihl)
    ip[2:4] = struct.pack("!H", len(frame) - IP_OFFSET + len(options))
    ip[10:12] = b"\0\0"
    total = sum(struct.unpack(f"!{len(ip) // 2}H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip[10:12] = struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
    return frame[:IP_OFFSET] + bytes(ip) + frame[IP_OFFSET + IP_BYTES:]


def test_case_A03_ipv4_options_do_not_move_the_ports(gate):
    # Read at offset 20, these are ports 39940 and 80, and the long one an ACK of a whole header.
    short = b"\x9c\x04\x00\x50"
    long = (b"\x9c\x28\x00\x50" + bytes(8) + b"\x50\x10").ljust(40, b"\0")
    good = [with_options(Tcp(40001, 443).syn(), short), with_options(Tcp(40002, 443).syn(), long)]
    bad = [with_options(Tcp(40003, 443).syn(), short, ihl=4),
           with_options(Tcp(40004, 443).syn(), b"", ihl=15)]
    trace = Trace()
    for i, frame in enumerate(good + bad):
        trace.outside(1 + i / 10, frame)
    result = gate([acme(10)], [service("web", "tcp", 80), service("tls", "tcp", 443)]).play(trace)

    assert result.services["tls"]["admitted"] == 2
    assert result.services["web"]["attempts"] == 0
    assert result.to_inside == good
    # An IHL of 15 in a packet of 40 bytes is more than its total length as well.
    assert result.drops() == {"malformed:ip_header": 2}
    assert result.tokens("acme") == 8


OPTIONS6 = [IPv6ExtHdrDestOpt] * 12


def chained(headers, upper, **fields):
    packet = IPv6(src=CLIENT6, dst=SERVICE6, **fields)
    for header in headers:
        packet = packet / header()
    return inward(packet / upper)


def test_case_A04_extension_headers_are_walked(gate):
    chains = [[], [IPv6ExtHdrHopByHop], [IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt],
              [IPv6ExtHdrRouting], OPTIONS6[:8]]
    trace, expected = Trace(), []
    for i, chain in enumerate(chains):
        for upper in (TCP(sport=40000 + i, dport=443, flags="S"), UDP(sport=40000 + i, dport=53)):
            expected.append(chained(chain, upper))
            trace.outside(1 + i / 10, expected[-1])
    result = gate([acme(100)], [service("tls", "tcp", 443), service("dns", "udp", 53)]).play(trace)

    assert result.to_inside == expected
    assert result.services["tls"]["admitted"] == len(chains)
    assert result.services["dns"]["admitted"] == len(chains)
    assert result.passes() == {"attempt": 2 * len(chains)}
    assert result.tokens("acme") == 100 - 2 * len(chains)


def test_case_A04_chains_too_long_or_cut_are_no_free_pass(gate):
    long = [chained(OPTIONS6, TCP(sport=40000 + i, dport=443, flags="S")) for i in range(20)]
    nine = chained(OPTIONS6[:9], TCP(sport=40100, dport=443, flags="S"))
    whole = chained([IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt], b"", nh=0)
    # Cut inside the second header, once by the wire and once by the IPv6 length.
    by_length = bytearray(whole)
    by_length[IP_OFFSET + 4:IP_OFFSET + 6] = struct.pack("!H", 12)
    beyond = bytearray(chained([IPv6ExtHdrDestOpt], TCP(sport=1, dport=443, flags="S")))
    beyond[IP_OFFSET + IPV6_BYTES + 1] = 200  # the header claims 1608 bytes
    trace = Trace()
    trace.outside(1, nine)
    for frame in long:
        trace.outside(2, frame)
    for frame in (whole[:-4], bytes(by_length), bytes(beyond)):
        trace.outside(3, frame)
    result = gate([acme(10)], [service("tls", "tcp", 443)]).play(trace)

    assert result.to_inside == [nine, *long[:9]]
    assert result.passes() == {"deep_chain": 10}
    assert result.refusals("acme") == {"rate": 11}
    assert result.services["tls"]["attempts"] == 0
    assert result.drops() == {"rate": 11, "malformed:ip_length": 1, "malformed:ipv6_chain": 2}


def padded_lengths(frame, offset, values):
    """The frame with other 16-bit numbers at `offset`."""
    return [frame[:offset] + struct.pack("!H", value) + frame[offset + 2:] for value in values]


def test_case_A08_cut_at_every_byte(gate):
    syn, query = Tcp(40001).syn(), inward(IP(src=CLIENT, dst=SERVICE) / UDP(sport=1, dport=53))
    syn6 = Tcp(40002, src=CLIENT6, dst=SERVICE6).syn()
    query6 = inward(IPv6(src=CLIENT6, dst=SERVICE6) / UDP(sport=1, dport=53))
    whole = [syn, query, syn6, query6]
    trace = Trace()
    for frame in whole:
        for length in range(len(frame)):
            trace.outside(1, frame[:length])
    for frame in whole:
        trace.outside(2, frame)
    result = gate([acme(10)], [service("web", "tcp", 80), service("dns", "udp", 53)]).play(trace)

    assert result.to_inside == whole
    assert result.drops() == {
        "malformed:ethernet": 4 * ETHERNET_BYTES,
        "malformed:ip_header": 2 * IP_BYTES + 2 * IPV6_BYTES,
        "malformed:ip_length": 2 * TCP_BYTES + 2 * UDP_BYTES,
    }
    assert result.tokens("acme") == 6


def test_case_A08_lengths_that_lie(gate):
    syn = Tcp(40001).syn()
    query = inward(IP(src=CLIENT, dst=SERVICE) / UDP(sport=1, dport=53) / b"12")
    total, l4 = IP_OFFSET + 2, IP_OFFSET + IP_BYTES
    bad = {
        "malformed:ip_length": padded_lengths(syn, total, (0, 19, 41, 65535)),
        # The header is there, but the packet says that it ends before.
        "malformed:tcp_header": padded_lengths(syn, total, range(20, 40)) + [
            syn[:l4 + 12] + bytes([words << 4]) + syn[l4 + 13:] for words in (0, 4, 6, 15)],
        "malformed:udp_length": padded_lengths(query, total, range(20, 28)) +
                                padded_lengths(query, l4 + 4, (0, 7, 11, 65535)),
    }
    trace = Trace()
    for frames in bad.values():
        for frame in frames:
            trace.outside(1, frame)
    result = gate([acme(10)], [service("web", "tcp", 80), service("dns", "udp", 53)]).play(trace)

    assert result.drops() == {reason: len(frames) for reason, frames in bad.items()}
    assert result.tokens("acme") == 10
    assert result.to_inside == []


def test_case_A08_padding_is_neither_data_nor_bytes(gate):
    padding = b"\xa5" * 6
    ack = outward(IP(src=SERVICE, dst=CLIENT) / TCP(sport=80, dport=40001, flags="A")) + padding
    data = outward(IP(src=SERVICE, dst=CLIENT) / TCP(sport=80, dport=40002, flags="A") / b"x")
    junk = Tcp(40003).syn() + b"\xa5" * 700
    trace = Trace()
    trace.inside(1, ack)  # as data, it would be adopted
    trace.inside(1.1, data)
    trace.outside(1.2, junk)
    trace.outside(1.3, Tcp(40004).sent("A") + padding)
    # 40 + 40 bytes by the IP header; with the junk in it the second packet would be too much.
    result = gate([acme(10, bits="8bit/s", bits_burst="80B")],
                  [service("web", "tcp", 80)]).play(trace)

    assert result.to_inside == [junk, Tcp(40004).sent("A") + padding]
    assert result.to_outside == [ack, data]
    assert result.services["web"]["adopted"] == 1
    assert result.used("web") == 2
    assert result.tenants["acme"]["bytes"] == {"in": 80, "out": 41}


def corrupted(frame):
    """With both checksums wrong."""
    ip = frame[:IP_OFFSET + 10] + bytes([frame[IP_OFFSET + 10] ^ 0x55]) + frame[IP_OFFSET + 11:]
    checksum = IP_OFFSET + IP_BYTES + 16
    return ip[:checksum] + bytes([ip[checksum] ^ 0x55]) + ip[checksum + 1:]


def test_case_A10_wrong_checksums_pass_as_they_are(gate):
    closing, reset = Tcp(40001), Tcp(40002)
    trace = Trace()
    for flow in (closing, reset):
        trace.outside(1, corrupted(flow.syn()))
        trace.inside(1.1, corrupted(flow.replied("SA")))
    trace.outside(2, corrupted(closing.sent("FA")))
    trace.inside(2.1, corrupted(closing.replied("FA")))
    trace.inside(2.2, corrupted(reset.replied("RA")))
    result = gate([acme(10)], [service("web", "tcp", 80)]).play(trace.sorted())

    # Checksums are not verified: a device that leaves them to others would look corrupt.
    assert result.drops() == {}
    assert result.to_inside == trace.sent("outside")
    assert result.to_outside == trace.sent("inside")
    assert result.services["web"]["outcomes"] == {"finished": 1, "reset": 1, "aborted": 0,
                                                  "aged": 0}
    assert raw(IP(corrupted(closing.syn())[IP_OFFSET:]))[10:12] != closing.syn()[24:26]
