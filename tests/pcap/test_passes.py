# SPDX-License-Identifier: BSD-3-Clause
"""What passes unasked, under which name, and that it leaves as it came."""

from scapy.all import (ARP, ESP, GRE, ICMP, IP, TCP, Dot3, Ether, ICMPv6EchoRequest,
                       ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6PacketTooBig,
                       IPv6, IPv6ExtHdrFragment, LLC, Raw, STP, raw)

from frames import (CLIENT, CLIENT6, INSIDE_MAC, OUTSIDE_MAC, SERVICE, SERVICE6, Tcp, Udp, inward,
                    outward, stray, tagged)
from gate import Trace

OTHER = "10.9.0.99"  # no service's address

SERVICES = [
    {"name": "web", "addresses": [SERVICE, SERVICE6], "protocol": "tcp", "ports": ["80"],
     "window": 64},
    {"name": "dns", "addresses": [SERVICE], "protocol": "udp", "ports": ["53"], "window": 64},
]

BLOCKED = [{"name": "default", "quota": {"attempts": 0, "packets": 0}}]


def ethernet(ethertype, payload=b"\x01" * 46):
    return raw(Ether(src=OUTSIDE_MAC, dst=INSIDE_MAC, type=ethertype) / Raw(payload))


def ip6(upper, **fields):
    return inward(IPv6(src=CLIENT6, dst=SERVICE6, **fields) / upper)


UNASKED = {
    "control": [
        inward(ARP(op="who-has", pdst=SERVICE)),
        ethernet(0x88CC),  # LLDP
        ethernet(0x8809),  # LACP
        ethernet(0x88B5),  # nobody's: local experimental
        raw(Dot3(src=OUTSIDE_MAC, dst="01:80:c2:00:00:00") / LLC() / STP()),
        ip6(ICMPv6ND_NS(tgt=SERVICE6), hlim=255),
        ip6(ICMPv6ND_NA(tgt=CLIENT6), hlim=255),
        ip6(ICMPv6ND_RA(), hlim=255),
        ip6(ICMPv6MLReport2(), hlim=1),
        inward(IP(src=CLIENT, dst="224.0.0.22", proto=2, ttl=1) / Raw(bytes(8))),  # IGMP
        inward(IP(src=CLIENT, dst="224.0.0.5", proto=89, ttl=1) / Raw(bytes(24))),  # OSPF
        inward(IP(src=CLIENT, dst="224.0.0.18", proto=112, ttl=255) / Raw(bytes(8))),  # VRRP
        tagged(inward(ARP(op="who-has", pdst=SERVICE)), (0x8100, 5)),
    ],
    "icmp": [
        inward(IP(src=CLIENT, dst=SERVICE) / ICMP(type="echo-request")),
        ip6(ICMPv6EchoRequest()),
        ip6(ICMPv6ND_NS(tgt=SERVICE6), hlim=64),  # came over a router, so it is forged
    ],
    "icmp_error": [
        inward(IP(src="10.77.0.1", dst=SERVICE) / ICMP(type=3, code=4, nexthopmtu=1300) /
               IP(src=SERVICE, dst=CLIENT) / TCP(sport=80, dport=40001)),
        ip6(ICMPv6PacketTooBig(mtu=1300) / IPv6(src=SERVICE6, dst=CLIENT6) / TCP(sport=80)),
    ],
    "fragment": [
        # A second fragment whose payload begins like the ports of the web service.
        inward(IP(src=CLIENT, dst=SERVICE, proto=17, frag=125, flags="MF") / Raw(b"\x9c\x40\0P")),
        inward(IP(src=CLIENT, dst=SERVICE, proto=6, frag=250) / Raw(b"\x9c\x40\0P" * 8)),
        ip6(IPv6ExtHdrFragment(nh=17, offset=125) / Raw(b"\x9c\x40\0P" * 2)),
    ],
    "other": [
        inward(IP(src=CLIENT, dst=SERVICE) / ESP(spi=1, seq=1, data=bytes(32))),
        inward(IP(src=CLIENT, dst=SERVICE) / GRE() / IP(src=CLIENT, dst=SERVICE) /
               TCP(dport=80, flags="S")),
        inward(IP(src=CLIENT, dst=SERVICE, proto=132) / Raw(bytes(32))),  # SCTP
    ],
    "unnamed": [
        Tcp(40001, dst=OTHER).syn(),
        Tcp(40001, dport=81).syn(),
        Tcp(40001, dport=81).sent("PA", b"data"),
        Udp(40001, dst=OTHER).asked(),
        Udp(40001, dport=80).asked(),
        inward(IP(src=CLIENT, dst=OTHER) / ICMP(type="echo-request")),
        inward(IP(src=CLIENT, dst=OTHER) / ESP(spi=1, seq=1, data=bytes(32))),
    ],
}


def test_each_kind_passes_under_its_own_name(gate):
    trace = Trace()
    for i, frame in enumerate(sum(UNASKED.values(), [])):
        trace.outside(1 + i / 100, frame)
    result = gate([], SERVICES).play(trace)

    assert result.passes() == {name: len(frames) for name, frames in UNASKED.items()}
    assert result.to_inside == trace.sent("outside")
    assert result.worker["slots"] == 0
    assert result.worker["flows"]["used"] == 0
    assert result.tenants["default"]["attempts"] == 0


def test_what_needs_no_quota_passes_with_none(gate):
    trace = Trace()
    for i, frame in enumerate(sum(UNASKED.values(), [])):
        trace.outside(1 + i / 100, frame)
    result = gate(BLOCKED, SERVICES).play(trace)

    billed = ("icmp", "fragment", "other")  # to named addresses, at their sender's expense
    assert result.passes() == {name: len(frames) for name, frames in UNASKED.items()
                               if name not in billed}
    assert result.drops() == {"packets": sum(len(UNASKED[name]) for name in billed)}


def test_control_traffic_has_a_bucket_of_its_own(gate):
    arp = inward(ARP(op="who-has", pdst=SERVICE))
    trace = Trace()
    for _ in range(150):
        trace.outside(1, arp)
    for _ in range(20):
        trace.outside(1.5, UNASKED["icmp_error"][0])
    for _ in range(150):
        trace.inside(1, outward(ARP(op="who-has", pdst=CLIENT)))
    trace.outside(2, Tcp(40001).syn())
    result = gate([], SERVICES, gate={"control": "10/s"}).play(trace)

    # Each direction has a burst of 100 and one more.
    assert result.passes() == {"control": 202, "icmp_error": 20, "attempt": 1}
    assert result.drops() == {"control": 49 + 49}


def test_a_flood_of_errors_does_not_starve_arp(gate):
    trace = Trace()
    for _ in range(500):
        trace.outside(1, UNASKED["icmp_error"][0])
    for _ in range(50):
        trace.outside(1, inward(ARP(op="who-has", pdst=SERVICE)))
    result = gate([], SERVICES, gate={"control": "10/s"}).play(trace)

    assert result.passes() == {"control": 50, "icmp_error": 101}
    assert result.drops() == {"control": 399}


def test_flows_of_the_inside_are_nobodys_work(gate):
    own = Tcp(40001, dst=OTHER)  # a service's host calls out, from a port that is no service's
    called = Tcp(40002)  # and from the service's own port
    trace = Trace()
    trace.inside(1, own.replied("S"))
    trace.outside(1.1, own.sent("SA"))
    trace.inside(1.2, own.replied("PA", b"hello"))
    trace.inside(2, called.replied("S"))
    trace.outside(2.1, called.sent("SA"))
    trace.inside(2.2, called.replied("A"))
    trace.outside(2.3, called.sent("PA", b"data"))
    trace.inside(2.4, Udp(40003).replied())  # unasked datagram
    trace.inside(2.5, outward(IP(src=SERVICE, dst=CLIENT) / ICMP(type="echo-request")))
    result = gate(BLOCKED, SERVICES).play(trace)

    assert result.passes() == {"inside": 7, "unnamed": 1, "icmp": 1}
    assert result.worker["slots"] == 0
    for service in result.services.values():
        assert (service["attempts"], service["adopted"]) == (0, 0)


def test_a_flow_found_midway_is_adopted_when_the_service_answers(gate):
    flow = Tcp(40001)
    trace = Trace()
    trace.outside(1, flow.sent("PA", b"request"))
    trace.inside(1.1, flow.replied("PA", b"reply"))
    trace.outside(1.2, flow.sent("A"))
    trace.outside(2, Tcp(40002).syn())  # the window is used, on debt
    result = gate([{"name": "default", "quota": {"attempts": "1/day", "attempts_burst": 9}}],
                  [{**SERVICES[0], "window": 1}]).play(trace)

    web = result.services["web"]
    assert result.passes() == {"midflow": 1, "inside": 1, "flow": 1}
    assert (web["adopted"], web["attempts"], web["admitted"]) == (1, 1, 0)
    assert web["refused"]["capacity"] == 1
    assert web["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}
    assert result.tokens("default") == 10


def test_adopted_flows_may_exceed_the_window_as_debt(gate):
    trace = Trace()
    for i in range(3):
        trace.inside(1 + i / 10, Tcp(40000 + i).replied("PA", b"reply"))
    trace.inside(2, Tcp(40000).replied("RA"))
    trace.outside(2.1, Tcp(40010).syn())  # two are still running
    trace.inside(2.2, Tcp(40001).replied("RA"))
    trace.outside(2.3, Tcp(40011).syn())  # one is, which is all there may be
    trace.inside(2.4, Tcp(40002).replied("RA"))
    trace.outside(2.5, Tcp(40012).syn())
    result = gate([], [{**SERVICES[0], "window": 1}]).play(trace)

    web = result.services["web"]
    assert (web["adopted"], web["admitted"], web["refused"]["capacity"]) == (3, 1, 2)
    assert web["window"] == {"limit": 1, "used": 1, "peak": 3, "debt": 0}
    assert result.to_inside == [Tcp(40012).syn()]


def test_only_data_of_the_service_proves_running_work(gate):
    nothing = [("A", b""), ("FA", b""), ("SA", b""), ("R", b""), ("RA", b""),
               ("FA", b"last"), ("SA", b"early"), ("RA", b"why")]
    trace = Trace()
    for i, (flags, payload) in enumerate(nothing):
        trace.inside(1 + i, Tcp(40000 + i).replied(flags, payload))
    result = gate([], SERVICES).play(trace)

    assert result.passes() == {"inside": len(nothing)}
    assert result.services["web"]["adopted"] == 0
    assert result.worker["slots"] == 0
    assert result.worker["flows"]["used"] == 0


def plain(size):
    """A frame of `size` bytes to the web service, midway in a connection."""
    return stray(40000, size - 14)


def test_frames_leave_byte_for_byte(gate):
    options = IP(src=CLIENT, dst=SERVICE, options=b"\x94\x04\x00\x00") / TCP(
        sport=40001, dport=80, flags="S", options=[("MSS", 1460), ("WScale", 7), ("SAckOK", b"")])
    trailer = Tcp(40002).sent("A") + b"\xde\xad\xbe\xef\xde\xad"
    shapes = [plain(size) for size in (64, 65, 128, 512, 1023, 1500, 1513, 1514)]
    shapes += [tagged(plain(300), (0x8100, 1)), tagged(plain(300), (0x8100, 0xE123)),
               tagged(plain(300), (0x88A8, 7), (0x8100, 9)), tagged(plain(1514), (0x8100, 2)),
               tagged(plain(1514), (0x88A8, 7), (0x8100, 9)), inward(options), trailer,
               tagged(trailer, (0x88A8, 7), (0x8100, 9)), *sum(UNASKED.values(), [])]
    trace = Trace()
    for i, frame in enumerate(shapes):
        trace.outside(1 + i / 100, frame)
        trace.inside(1 + i / 100, frame[6:12] + frame[:6] + frame[12:])
    result = gate([], SERVICES).play(trace)

    assert result.to_inside == shapes
    assert result.to_outside == trace.sent("inside")
    assert result.answers == []


def test_who_asks_is_the_longest_prefix_then_the_services_tenant_then_default(gate):
    tenants = [{"name": "wide", "prefixes": ["10.1.0.0/16", "2001:db8:1::/48"]},
               {"name": "narrow", "prefixes": ["10.1.7.0/24", "2001:db8:1:7::/64"]},
               {"name": "host", "prefixes": ["10.1.7.9/32"]},
               {"name": "house"}]
    services = [{**SERVICES[0], "tenant": "house"},
                {**SERVICES[0], "name": "api", "ports": ["8000-8099", "443"], "window": 5}]
    asks = {"wide": ["10.1.0.1", "10.1.8.1", "2001:db8:1::1"],
            "narrow": ["10.1.7.1", "10.1.7.255", "2001:db8:1:7::1", "10.1.7.10"],
            "host": ["10.1.7.9"],
            "house": ["192.0.2.1", "2001:db8:2::1"]}
    trace = Trace()
    for source in sum(asks.values(), []):
        trace.outside(1, Tcp(40000, src=source, dst=SERVICE6 if ":" in source else SERVICE).syn())
    for dport in (7999, 8000, 8099, 8100, 443):
        trace.outside(2, Tcp(40001, dport, src="192.0.2.1").syn())
    result = gate(tenants, services).play(trace)

    assert {name: t["admitted"] for name, t in result.tenants.items()} == {
        "default": 3, **{name: len(sources) for name, sources in asks.items()}}
    assert result.services["web"]["admitted"] == 10
    assert result.services["api"]["admitted"] == 3
    assert result.passes() == {"attempt": 13, "unnamed": 2}
