# SPDX-License-Identifier: BSD-3-Clause
"""The deny list: what gets in all the same, and what is known of it after the daemon was away."""

import os
import time

from scapy.all import (ARP, ESP, ICMP, IP, TCP, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, IPv6,
                       IPv6ExtHdrFragment, Raw)

from frames import CLIENT, CLIENT6, IP_OFFSET, SERVICE, SERVICE6, Tcp, Udp, inward, tagged
from gate import Trace

ACME = {"name": "acme", "prefixes": ["10.1.0.0/16", "2001:db8:1::/48"],
        "quota": {"attempts": "1/day", "attempts_burst": 99}}
FREE, FREE6 = "10.1.7.1", "2001:db8:1:7::1"


def web():
    return {"name": "web", "addresses": [SERVICE, SERVICE6], "protocol": "tcp", "ports": ["80"],
            "window": 64}


def dns():
    return {"name": "dns", "addresses": [SERVICE, SERVICE6], "protocol": "udp", "ports": ["53"]}


def denying(door, *prefixes):
    """The gate, with a list that another daemon left behind."""
    with open(door.path("socket.deny"), "w", encoding="ascii") as deny:
        deny.write("".join(f"{prefix}\n" for prefix in prefixes))
    return door


def at_once(frames):
    trace = Trace()
    for i, frame in enumerate(frames):
        trace.outside(1 + i / 1000, frame)
    return trace


def ip6(upper, **fields):
    return inward(IPv6(src=CLIENT6, dst=SERVICE6, **fields) / upper)


def test_whatever_a_denied_source_sends_is_dropped(gate):
    syn6 = Tcp(40002, src=CLIENT6, dst=SERVICE6).syn()
    denied = [
        Tcp(40001).syn(), Tcp(40001).sent("PA", b"data"), Udp(40001).asked(), syn6,
        tagged(Tcp(40003).syn(), (0x8100, 5)), tagged(syn6, (0x88A8, 6), (0x8100, 5)),
        Tcp(40004, dst="10.77.0.1").syn(),  # to an address that no service names
        inward(IP(src=CLIENT, dst=SERVICE) / ICMP(type="echo-request")),
        inward(IP(src=CLIENT, dst=SERVICE) / ICMP(type=3, code=1) /
               IP(src=SERVICE, dst=CLIENT) / TCP(sport=80, dport=40001)),
        inward(IP(src=CLIENT, dst=SERVICE, proto=17, frag=125) / Raw(bytes(16))),
        inward(IP(src=CLIENT, dst=SERVICE) / ESP(spi=1, seq=1, data=bytes(32))),
        ip6(ICMPv6EchoRequest()), ip6(IPv6ExtHdrFragment(nh=17, offset=125) / Raw(bytes(16))),
    ]
    free = [Tcp(40001, src=FREE).syn(), Tcp(40002, src=FREE6, dst=SERVICE6).syn(),
            tagged(Tcp(40003, src=FREE).syn(), (0x8100, 5))]
    door = denying(gate([ACME], [web(), dns()]), "10.1.0.1", "2001:db8:1::1/128")
    result = door.play(at_once(denied + free))

    assert result.drops() == {"denied": len(denied)}
    assert result.to_inside == free
    assert result.outside == []  # there is no answer to it
    assert result.passes() == {"attempt": 3}
    assert result.tokens("acme") == 97
    assert result.tenants["acme"]["attempts"] == 3
    assert result.refusals("acme") == {}
    assert result.worker["flows"]["used"] == 3


def test_denied_comes_before_malformed_where_the_source_is_known(gate):
    def cut(frame, at):
        return frame[:at]

    syn, syn6 = Tcp(40001).syn(), Tcp(40002, src=CLIENT6, dst=SERVICE6).syn()
    denied = [cut(syn, IP_OFFSET + 20 + 19), cut(syn6, IP_OFFSET + 40 + 19),
              syn[:IP_OFFSET + 20 + 13] + b"\x03" + syn[IP_OFFSET + 20 + 14:],  # SYN and FIN
              tagged(cut(syn, IP_OFFSET + 30), (0x8100, 5))]
    malformed = [cut(syn, IP_OFFSET + 19), cut(syn6, IP_OFFSET + 39), cut(syn, 13),
                 cut(Tcp(40001, src=FREE).syn(), IP_OFFSET + 20 + 19)]
    door = denying(gate([ACME], [web()]), "10.1.0.1", "2001:db8:1::/64")
    result = door.play(at_once(denied + malformed))

    assert result.drops() == {"denied": 4, "malformed:ip_header": 2, "malformed:ethernet": 1,
                              "malformed:ip_length": 1}
    assert result.to_inside == []


def test_case_A15_neighbours_find_each_other_when_all_is_denied(gate):
    control = [
        inward(ARP(op="who-has", psrc=CLIENT, pdst=SERVICE)),
        tagged(inward(ARP(op="is-at", psrc=CLIENT, pdst=SERVICE)), (0x8100, 5)),
        ip6(ICMPv6ND_NS(tgt=SERVICE6), hlim=255),
        ip6(ICMPv6ND_NA(tgt=CLIENT6), hlim=255),
        inward(IPv6(src="::", dst="ff02::1:ff00:10") / ICMPv6ND_NS(tgt=SERVICE6)),
        inward(IP(src=CLIENT, dst="224.0.0.5", proto=89, ttl=1) / Raw(bytes(24))),  # OSPF
    ]
    forged = ip6(ICMPv6ND_NS(tgt=SERVICE6), hlim=64)  # it came over a router
    trace = at_once([*control, forged, Tcp(40001).syn()])
    outward = [Tcp(40001).replied("SA"), Udp(40002).replied(), Tcp(40003, src=CLIENT6,
                                                                  dst=SERVICE6).replied("PA", b"x")]
    for frame in outward:
        trace.inside(2, frame)
    result = denying(gate([ACME], [web()]), "0.0.0.0/0", "::/0").play(trace)

    assert result.to_inside == control
    assert result.drops() == {"denied": 2}
    assert result.to_outside == outward  # what leaves is nobody's attack
    assert result.passes() == {"control": len(control), "inside": len(outward)}


def test_case_H05_nested_networks_and_their_ends(gate):
    prefixes = ["10.1.2.0/24", "10.1.0.0/20", "10.1.2.128/32", "2001:db8:1:2::/64",
                "2001:db8:1::/56", "::/0", "10.1.255.255"]
    inner = ["10.1.0.0", "10.1.2.0", "10.1.2.128", "10.1.15.255", "10.1.255.255"]
    outer = ["10.1.16.0", "10.1.255.254", "10.0.255.255", "10.2.0.0"]
    denied = [Tcp(40000, src=source).syn() for source in inner]
    denied += [Tcp(40000, src=source, dst=SERVICE6).syn()
               for source in ("2001:db8:1:2::9", "2001:db8:1:ff::", "fd00::1")]
    free = [Tcp(40000, src=source).syn() for source in outer]
    result = denying(gate([ACME], [web()]), *prefixes).play(at_once(denied + free))

    assert result.drops() == {"denied": len(denied)}
    assert result.to_inside == free


def test_a_list_acts_on_open_connections_and_lets_them_go_on(gate):
    flow, other = Tcp(40001), Tcp(40001, src=FREE)
    door = gate([ACME], [web()])

    def opening(trace):
        for each in (flow, other):
            trace.outside(1, each.syn())
            trace.outside(1.1, each.sent("A"))

    def denied(trace):
        door.ctl("deny", "add", "10.1.0.0/24")
        for each in (flow, other):
            trace.outside(2, each.sent("PA", b"one"))

    def allowed(trace):
        door.ctl("deny", "del", "10.1.0.0/24")
        for each in (flow, other):
            trace.outside(3, each.sent("PA", b"two"))

    result = door.play_in_parts([opening, denied, allowed])
    assert result.drops() == {"denied": 1}
    assert result.to_inside == [frame for frame in result.trace.sent("outside")
                                if frame != flow.sent("PA", b"one")]
    assert result.passes() == {"attempt": 2, "flow": 5}
    assert result.tokens("acme") == 98


def idle_door(gate):
    """A daemon that has no packets, and stays."""
    return gate([], [], gate={"outside": ["net_null0,no-rx=1"], "inside": ["net_null1,no-rx=1"]})


def started(door):
    door.start()
    door.wait_for(0)


def listed(door):
    return [entry["prefix"] for entry in door.ctl("deny", "list")["denied"]]


def test_a_list_survives_sigterm_and_sigkill(gate):
    door = idle_door(gate)
    try:
        started(door)
        changed = door.ctl("deny", "add", "10.1.2.3/16", "2001:db8::/32", "10.9.0.1")
        assert (changed["entries"], changed["unsaved"], changed["pending"]) == (3, None, False)
        door.ctl("deny", "add", "10.3.0.0/16", "for", "1h")
        door.ctl("deny", "del", "10.9.0.1")
        assert door.end() == 0
        started(door)
        assert f"{door.path('socket.deny')}: 3 network(s) denied\n" in door.stderr()
        assert listed(door) == ["10.1.0.0/16", "10.3.0.0/16", "2001:db8::/32"]
        assert door.ctl("status")["policy"]["epoch"] == 0
        door.ctl("deny", "add", "10.2.0.0/16")
        door.kill()
        started(door)
        entries = door.ctl("deny", "list")["denied"]
        assert [entry["prefix"] for entry in entries] == ["10.1.0.0/16", "10.2.0.0/16",
                                                          "10.3.0.0/16", "2001:db8::/32"]
        left = [entry["expires_in"] for entry in entries]
        assert (left[0], left[1], left[3]) == (None, None, None)
        assert 0 < int(left[2].removesuffix("s")) <= 3600
        assert os.stat(door.path("socket.deny")).st_mode & 0o7777 == 0o600
        assert door.end() == 0
    finally:
        door.kill()


def test_entries_end_while_the_daemon_runs_and_while_it_is_away(gate):
    door = idle_door(gate)
    now = int(time.time())
    denying(door, "10.1.0.0/16", f"10.2.0.0/16 {now - 1}", f"10.3.0.0/16 {now + 3600}")
    try:
        started(door)
        assert listed(door) == ["10.1.0.0/16", "10.3.0.0/16"]
        epoch = door.ctl("deny", "add", "10.4.0.0/16", "for", "1s")["epoch"]
        deadline = time.monotonic() + 60
        while len(listed(door)) > 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert listed(door) == ["10.1.0.0/16", "10.3.0.0/16"]
        assert door.ctl("status")["policy"]["epoch"] == epoch + 1
        assert door.end() == 0
        with open(door.path("socket.deny"), encoding="ascii") as deny:
            assert deny.read().splitlines()[2:] == ["10.1.0.0/16", f"10.3.0.0/16 {now + 3600}"]
    finally:
        door.kill()


def test_a_broken_list_stops_nobody_and_loses_nothing(gate):
    door = denying(idle_door(gate), "10.1.0.0/16", "10.2.0.0/99", "# mine")
    try:
        started(door)
        assert (f'{door.path("socket.deny")}:2: "10.2.0.0/99" is no prefix, and is left as it is\n'
                in door.stderr())
        assert listed(door) == ["10.1.0.0/16"]
        door.ctl("deny", "add", "10.3.0.0/16")
        with open(door.path("socket.deny"), encoding="ascii") as deny:
            assert deny.read() == "10.2.0.0/99\n# mine\n10.1.0.0/16\n10.3.0.0/16\n"
        assert door.end() == 0
    finally:
        door.kill()
