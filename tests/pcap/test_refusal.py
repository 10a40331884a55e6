# SPDX-License-Identifier: BSD-3-Clause
"""What a refused client is told, and when it is told nothing."""

from scapy.all import ICMP, IP, TCP, Dot1AD, Dot1Q, Ether, IPv6, IPv6ExtHdrDestOpt, raw

from frames import (CLIENT, CLIENT6, INSIDE_MAC, OUTSIDE_MAC, SERVICE, SERVICE6, Tcp, inward,
                    tagged)
from gate import Trace

RST_ACK = 0x14


def web(**more):
    return {"name": "web", "addresses": [SERVICE, SERVICE6], "protocol": "tcp", "ports": ["80"],
            **more}


NOBODY = [{"name": "default", "quota": {"attempts": 0}}]


def with_true_checksums(frame):
    packet = Ether(frame)
    for layer in (IP, TCP):
        if layer in packet:
            del packet[layer].chksum
    return raw(packet)


def check_answer(answer, src, dst, sport, ack):
    packet = Ether(answer)
    network = packet[IPv6 if ":" in src else IP]
    tcp = packet[TCP]
    assert (packet.src, packet.dst) == (INSIDE_MAC, OUTSIDE_MAC)
    assert (network.src, network.dst) == (dst, src)
    assert (tcp.sport, tcp.dport) == (80, sport)
    assert (tcp.seq, tcp.ack, int(tcp.flags)) == (0, ack, RST_ACK)
    assert tcp.dataofs == 5 and not tcp.options
    assert (network.hlim if IPv6 in packet else network.ttl) == 64
    assert len(tcp.payload) == 0
    assert with_true_checksums(answer) == answer


def options6(sport):
    return inward(IPv6(src=CLIENT6, dst=SERVICE6) / IPv6ExtHdrDestOpt() /
                  TCP(sport=sport, dport=80, flags="S", seq=1000))


def test_the_refusal_says_no_to_just_that_syn(gate):
    options = inward(IP(src=CLIENT, dst=SERVICE, options=b"\x94\x04\x00\x00") /
                     TCP(sport=40004, dport=80, flags="S", seq=1000, options=[("MSS", 1460)]))
    syns = [
        (Tcp(40000).syn(), CLIENT, SERVICE, 1001),
        (Tcp(40001).syn(b"early data"), CLIENT, SERVICE, 1011),
        (Tcp(40002, isn=0xFFFFFFFF).syn(), CLIENT, SERVICE, 0),
        (Tcp(40003).sent("SEC"), CLIENT, SERVICE, 1001),
        (options, CLIENT, SERVICE, 1001),
        (Tcp(40005, src=CLIENT6, dst=SERVICE6).syn(), CLIENT6, SERVICE6, 1001),
        (options6(40006), CLIENT6, SERVICE6, 1001),
        (Tcp(40007).syn() + bytes(6), CLIENT, SERVICE, 1001),
    ]
    trace = Trace()
    for i, (syn, *_) in enumerate(syns):
        trace.outside(1 + i / 10, syn)
    result = gate(NOBODY, [web()]).play(trace)

    assert result.to_inside == []
    assert len(result.answers) == len(syns)
    for sport, answer, (_, src, dst, ack) in zip(range(40000, 40008), result.answers, syns):
        check_answer(answer, src, dst, sport, ack)
    assert result.services["web"]["answered"] == len(syns)
    assert result.drops() == {}


def test_the_refusal_keeps_the_tags(gate):
    one, two = ((0x8100, 0x6005),), ((0x88A8, 0x2007), (0x8100, 9))
    trace = Trace()
    trace.outside(1, tagged(Tcp(40000).syn(), *one))
    trace.outside(2, tagged(Tcp(40000).syn(), *two))
    result = gate(NOBODY, [web()]).play(trace)

    single, double = (Ether(answer) for answer in result.answers)
    assert (single[Dot1Q].vlan, single[Dot1Q].prio) == (5, 3)
    assert (double[Dot1AD].vlan, double[Dot1AD].prio, double[Dot1Q].vlan) == (7, 1, 9)
    for answer, tags in zip(result.answers, (one, two)):
        untagged = answer[:12] + answer[12 + 4 * len(tags):]
        check_answer(untagged, CLIENT, SERVICE, 40000, 1001)


def test_the_refusal_of_drop_is_silence(gate):
    trace = Trace()
    for i in range(5):
        trace.outside(1 + i, Tcp(40000 + i).syn())
    result = gate(NOBODY, [web(refuse="drop")]).play(trace)

    assert result.to_outside + result.answers + result.to_inside == []
    assert result.drops() == {"rate": 5}
    assert result.services["web"]["unanswered"] == 5


def test_answers_have_a_rate(gate):
    trace = Trace()
    for i in range(10):
        trace.outside(1, Tcp(40000 + i).syn())
    for i in range(10):
        trace.outside(1.5, Tcp(40100 + i).syn())
    result = gate(NOBODY, [web(refuse_rate="4/s")]).play(trace)

    # Two at once (a burst of one, and one more), and two more half a second later.
    assert [Ether(answer)[TCP].dport for answer in result.answers] == [40000, 40001, 40100, 40101]
    assert result.services["web"]["answered"] == 4
    assert result.services["web"]["unanswered"] == 16
    assert result.drops() == {"rate": 16}
    assert result.refusals("default") == {"rate": 20}


def test_only_attempts_are_answered(gate):
    flow = Tcp(40001)
    trace = Trace()
    for flags in ("A", "PA", "FA", "RA", "SA"):
        trace.outside(1, flow.sent(flags))
    trace.outside(2, inward(IP(src=CLIENT, dst=SERVICE) / ICMP(type="echo-request")))
    result = gate([{"name": "default", "quota": {"attempts": 0, "packets": 0}}],
                  [web()]).play(trace)

    assert result.answers == []
    assert result.drops() == {"packets": 6}
    assert result.tenants["default"]["attempts"] == 0
