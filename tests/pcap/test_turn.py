# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of a request on an open connection that finds no slot: rst, http, pass."""

import pytest
from scapy.all import IP, TCP, Ether, raw

from frames import INSIDE_MAC, OUTSIDE_MAC, SERVICE, Dialogue, together
from gate import Trace

GET = b"GET /index.html HTTP/1.1\r\nHost: web\r\n\r\n"
CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(189))
LATER_S = 4  # what has been shut is forgotten after `fin`, 2 s


def web(turn, **more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "unit": "exchange", "window": 1, "turn": turn, **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


def with_true_checksums(frame):
    packet = Ether(frame)
    del packet[IP].chksum, packet[TCP].chksum
    return raw(packet)


def check_segment(frame, inwards, flow, seq, ack, flags):
    """A segment that the gate made itself, complete and for this connection."""
    packet = Ether(frame)
    macs, hosts, ports = ((OUTSIDE_MAC, INSIDE_MAC), (flow.src, flow.dst), (flow.sport, 80))
    if not inwards:
        macs, hosts, ports = macs[::-1], hosts[::-1], ports[::-1]
    assert (packet.src, packet.dst) == macs
    assert (packet[IP].src, packet[IP].dst) == hosts
    assert (packet[TCP].sport, packet[TCP].dport) == ports
    assert (packet[TCP].seq, packet[TCP].ack, str(packet[TCP].flags)) == (seq, ack, flags)
    assert with_true_checksums(frame) == frame
    return bytes(packet[TCP].payload)


def refused_turn(trace, payload):
    """
    One connection keeps the only slot; the other has had a turn, and its second request finds
    none. Returns both and that request.
    """
    busy, flow = together(2, Dialogue)
    for i, opening in enumerate((busy, flow)):
        opening.open_at(trace, 1 + i / 100)
    trace.outside(1.1, flow.asks(b"GET / HTTP/1.1\r\n\r\n"))
    trace.inside(1.11, flow.answers())
    trace.outside(1.5, busy.asks())
    request = flow.asks(payload)
    trace.outside(1.6, request)
    return busy, flow, request


def speak_on(trace, flow):
    """What is under way when the connection is ended, from both sides: four packets."""
    trace.outside(1.601, flow.asks(b"more"))
    trace.inside(1.602, flow.replied("A"))
    trace.outside(1.7, flow.asks(b"", flags="FA"))
    trace.inside(1.8, flow.replied("RA"))


def check_shut(result, request):
    assert request not in result.to_inside
    assert result.drops() == {"cancelled": 4}
    assert result.refusals("acme") == {"capacity": 1}
    assert (result.worker["made"], result.worker["answered"]) == (1, 2)
    assert result.services["web"]["answered"] == 1
    assert result.used("web") == 1


@pytest.mark.parametrize("turn, payload", [("rst", GET), ("http", CLIENT_HELLO)])
def test_both_sides_are_reset(gate, turn, payload):
    """Also where a 503 is wanted but nobody could read it."""
    trace = Trace()
    _, flow, request = refused_turn(trace, payload)
    asked, heard = flow.said - len(payload), flow.heard
    speak_on(trace, flow)
    result = gate([acme()], [web(turn)]).play(trace)

    (answer,), (reset,) = result.answers, result.resets
    assert not check_segment(answer, False, flow, 5001 + heard, 0, "R")
    assert not check_segment(reset, True, flow, 1001 + asked, 0, "R")
    check_shut(result, request)


def test_a_503_ends_the_connection(gate):
    trace = Trace()
    _, flow, request = refused_turn(trace, GET)
    asked, heard = flow.said - len(GET), flow.heard
    speak_on(trace, flow)
    result = gate([acme()], [web("http")]).play(trace)

    (answer,), (reset,) = result.answers, result.resets
    text = check_segment(answer, False, flow, 5001 + heard, 1001 + asked + len(GET), "FPA")
    assert text == (b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                    b"Content-Length: 0\r\nConnection: close\r\n\r\n")
    assert not check_segment(reset, True, flow, 1001 + asked, 0, "R")
    check_shut(result, request)


def test_who_waited_in_vain_is_answered_alike(gate):
    trace = Trace()
    _, flow, request = refused_turn(trace, GET)
    asked, heard = flow.said - len(GET), flow.heard
    trace.outside(1.65, request)  # repeated while it waits
    trace.outside(1.75, request)  # and when it has been answered
    trace.outside(2, Dialogue(1, dst="10.9.0.99").syn())
    result = gate([acme()], [web("http", wait={"places": 1, "age": "100ms"})]).play(trace)

    (answer,), (reset,) = result.answers, result.resets
    text = check_segment(answer, False, flow, 5001 + heard, 1001 + asked + len(GET), "FPA")
    assert text.startswith(b"HTTP/1.1 503 ")
    assert not check_segment(reset, True, flow, 1001 + asked, 0, "R")
    assert result.drops() == {"duplicate": 1, "cancelled": 1}
    assert result.tenants["acme"]["waited"] == 1
    assert result.refusals("acme") == {"capacity": 1}


@pytest.mark.parametrize("quota, reason, retry_after_s", [
    ({"attempts": "4/min", "attempts_burst": 0}, "rate", 13),  # 15 s from the SYN on
    ({"attempts": "1/day", "attempts_burst": 0}, "rate", 60),
    # Before it came a SYN, an ACK and a request of 40, 40 and 79 bytes, and in 2.7 s 5.4 more are
    # earned: 15.4 are there of the 79 that it needs, at two bytes a second.
    ({"bits": "16bit/s", "bits_burst": "169B"}, "bits", 32),
])
def test_a_quota_is_told_apart(gate, quota, reason, retry_after_s):
    """Also when it will have what is missing."""
    trace = Trace()
    flow, = together(1, Dialogue)
    flow.open_at(trace, 1)
    for at in (1.1, 3.7):
        trace.outside(at, flow.asks(GET))
        trace.inside(at + 0.01, flow.answers())
    result = gate([acme(quota=quota)], [web("http")]).play(trace)

    answer, = result.answers
    assert bytes(Ether(answer)[TCP].payload) == (
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: %d\r\n"
        b"Content-Length: 0\r\nConnection: close\r\n\r\n" % retry_after_s)
    assert result.refusals("acme") == {reason: 1}


def in_parts(flow):
    """
    What a client asks, three parts of the reply, and the next request: sent when it had the first
    part, and when it had them all.
    """
    first = flow.asks(GET)
    asked, heard = flow.said, flow.heard
    parts = [flow.answers(part) for part in (b"HTTP/1.1 200 OK\r\n", b"\r\n", b"text")]
    early = flow.sent("PA", GET, seq=flow.isn + 1 + asked, ack=5001 + heard + 17)
    return first, parts, early, flow.asks(GET)


@pytest.mark.parametrize("turn", ["rst", "http"])
def test_a_request_ahead_of_a_reply_does_not_cut_it_off(gate, turn):
    """It is dropped, and judged again when it is repeated."""
    trace = Trace()
    flow, = together(1, Dialogue)
    flow.open_at(trace, 1)
    first, parts, early, again = in_parts(flow)
    trace.outside(1.1, first)
    trace.inside(1.11, parts[0])
    trace.inside(1.115, parts[1])
    trace.outside(1.12, early)
    trace.inside(1.125, parts[2])
    trace.outside(1.13, again)
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 0})],
                  [web(turn)]).play(trace)

    answer, = result.answers
    assert Ether(answer)[TCP].seq == 5001 + flow.heard
    assert result.outside[-2:] == [parts[2], answer]
    assert result.to_inside[-1] == first
    assert result.drops() == {"rate": 1}
    assert result.refusals("acme") == {"rate": 2}
    assert result.services["web"]["answered"] == 1


def test_a_request_that_waits_ahead_of_a_reply_does_not_cut_it_off(gate):
    trace, (flow, busy) = Trace(), together(2, Dialogue)
    for i, opening in enumerate((flow, busy)):
        opening.open_at(trace, 1 + i / 100)
    first, parts, early, again = in_parts(flow)
    trace.outside(1.1, first)
    trace.inside(1.11, parts[0])
    trace.outside(1.12, busy.asks())
    trace.outside(1.13, early)  # gives its slot to the other, and waits
    trace.inside(1.15, parts[1])
    trace.inside(1.22, parts[2])
    trace.outside(1.235, Dialogue(1, dst="10.9.0.99").syn())  # and has waited in vain
    trace.inside(1.4, busy.answers(flags="FA"))
    trace.outside(1.5, again)
    result = gate([acme()], [web("rst", wait={"places": 2, "age": "100ms"})]).play(trace)

    assert result.answers == result.resets == []
    assert result.to_outside == trace.sent("inside")
    assert early not in result.to_inside and result.to_inside[-1] == again
    assert result.drops() == result.refusals("acme") == {"capacity": 1}
    assert result.tenants["acme"]["waited"] == 2


@pytest.mark.parametrize("turn", ["rst", "http"])
def test_the_refusal_of_drop_is_silence(gate, turn):
    """The request goes nowhere; the connection stays, and serves it when it is sent again."""
    trace = Trace()
    busy, flow, request = refused_turn(trace, GET)
    trace.outside(1.9, request)
    trace.inside(2, busy.answers(flags="FA"))
    trace.outside(2.5, request)
    reply = flow.answers()
    trace.inside(2.6, reply)
    result = gate([acme()], [web(turn, refuse="drop")]).play(trace)

    assert result.answers == result.resets == []
    assert result.to_inside.count(request) == 1
    assert reply in result.to_outside
    assert result.drops() == result.refusals("acme") == {"capacity": 2}
    service = result.services["web"]
    assert (service["answered"], service["unanswered"]) == (0, 2)
    assert (service["attempts"], service["admitted"]) == (2 + 3, 3)


def test_answers_to_requests_have_a_rate(gate):
    """The same as those to SYNs."""
    trace, (busy, *flows) = Trace(), together(4, Dialogue)
    for i, flow in enumerate((busy, *flows)):
        flow.open_at(trace, 1 + i / 100)
    trace.outside(1.5, busy.asks())
    for i, flow in enumerate(flows):
        trace.outside(1.6 + i / 1000, flow.asks(GET))
    result = gate([acme()], [web("http", refuse_rate="2/s")]).play(trace)

    first = [flow.sport for flow in flows[:2]]  # a burst of one, and one more
    assert [Ether(answer)[TCP].dport for answer in result.answers] == first
    assert [Ether(reset)[TCP].sport for reset in result.resets] == first
    assert result.drops() == {"capacity": 1}
    assert result.refusals("acme") == {"capacity": 3}
    service = result.services["web"]
    assert (service["answered"], service["unanswered"]) == (2, 1)


def test_pass_takes_the_slot_on_debt(gate):
    trace = Trace()
    busy, flow, request = refused_turn(trace, GET)
    trace.outside(1.65, busy.sent("A"))
    result = gate([acme()], [web("pass")]).play(trace)

    assert request in result.to_inside
    assert result.answers == result.resets == []
    service = result.services["web"]
    assert service["window"] == {"limit": 1, "used": 2, "peak": 2, "debt": 1}
    assert (service["admitted"], service["adopted"]) == (2, 1)
    assert result.refusals("acme") == {"capacity": 1}

    trace.inside(1.7, flow.answers())
    trace.outside(2, busy.sent("A"))  # the reply has ended in silence
    result = gate([acme()], [web("pass")]).play(trace)
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 2, "debt": 0}


def test_pass_owes_a_slot_and_nothing_else(gate):
    """There is a slot, but no token: the tenant's own limit is no reason to let it through."""
    trace = Trace()
    flow, = together(1, Dialogue)
    flow.open_at(trace, 1)
    for at in (1.1, 1.2):
        request = flow.asks(GET)
        trace.outside(at, request)
        trace.inside(at + 0.01, flow.answers())
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 0})],
                  [web("pass")]).play(trace)

    assert request not in result.to_inside
    answer, = result.answers
    assert str(Ether(answer)[TCP].flags) == "R"
    assert len(result.resets) == 1
    assert result.refusals("acme") == {"rate": 1}
    assert result.services["web"]["adopted"] == 0
    assert result.used("web") == 0


def test_the_ports_of_a_shut_connection_serve_again(gate):
    """At once by a new SYN, and when the old one is forgotten."""
    trace = Trace()
    busy, flow, _ = refused_turn(trace, GET)
    trace.inside(1.7, busy.answers(flags="FA"))
    anew = Dialogue(flow.sport, src=flow.src, isn=90000)
    anew.open_at(trace, 1.8)
    trace.outside(1.9, anew.asks(GET))
    trace.inside(1.95, anew.answers())
    anew.close_at(trace, 2)
    last = Dialogue(flow.sport, src=flow.src, isn=180000)
    last.open_at(trace, 1.8 + LATER_S)
    trace.outside(1.9 + LATER_S, last.asks(GET))
    result = gate([acme()], [web("rst")]).play(trace)

    tenant = result.tenants["acme"]
    assert (tenant["attempts"], tenant["admitted"]) == (5, 4)
    assert result.refusals("acme") == {"capacity": 1}
    assert result.drops() == {}
    assert result.used("web") == 1


def test_refused_first_requests_cost_nothing(gate):
    """
    Ten packets a day: four handshakes of two, the request that holds the slot, and one more. Three
    requests are refused between those two.
    """
    trace = Trace()
    busy, *others = together(4, Dialogue)
    for i, flow in enumerate((busy, *others)):
        flow.open_at(trace, 1 + i / 100)
    trace.outside(1.5, busy.asks())
    for i, flow in enumerate(others):
        trace.outside(1.6 + i / 100, flow.asks(GET))
    last = busy.asks(b"more")
    trace.outside(1.7, last)
    trace.outside(1.71, busy.asks(b"and more"))
    quota = {"packets": "1/day", "packets_burst": 9}
    result = gate([acme(quota=quota)], [web("rst")]).play(trace)

    assert result.refusals("acme") == {"capacity": 3}
    assert last in result.to_inside
    assert result.drops() == {"packets": 1}
    assert result.tenants["acme"]["packets"]["in"] == 10


def test_pass_on_debt_is_metered(gate):
    """The seventh of seven packets a day, of which nothing is left for another."""
    trace = Trace()
    _, flow, request = refused_turn(trace, GET)
    trace.outside(1.65, flow.asks(b"more"))
    result = gate([acme(quota={"packets": "1/day", "packets_burst": 6})], [web("pass")]).play(trace)

    assert request in result.to_inside
    assert result.refusals("acme") == {"capacity": 1}
    assert result.tenants["acme"]["packets"]["in"] == 7
    assert result.drops() == {"packets": 1}
