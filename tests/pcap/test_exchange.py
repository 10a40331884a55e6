# SPDX-License-Identifier: BSD-3-Clause
"""Unit `exchange`: a slot from the first byte of a request to the end of its reply."""

from scapy.all import TCP, Ether

from frames import SERVICE, Dialogue, Tcp, together
from gate import Trace

ELSEWHERE = Tcp(1, dst="10.9.0.99")  # its packets let time pass


def web(window, **more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "unit": "exchange", "window": window, **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


def outcomes(result):
    return {name: n for name, n in result.services["web"]["outcomes"].items() if n}


def opened(trace, n, at=1):
    """n connections, their handshakes 10 ms apart."""
    flows = together(n, Dialogue)
    for i, flow in enumerate(flows):
        flow.open_at(trace, at + i / 100)
    return flows


def is_asked(result, request):
    """Did the request reach the service?"""
    return request in result.to_inside


def test_connections_have_a_cap_of_their_own(gate):
    flows, trace = together(6, Dialogue), Trace(silent=5)
    for i, flow in enumerate(flows[:3]):
        flow.open_at(trace, 1 + i / 100)
    trace.outside(1.1, flows[3].syn())
    flows[0].close_at(trace, 1.2)  # one place
    flows[4].open_at(trace, 1.3)
    trace.inside(1.4, flows[1].replied("RA"))  # and one more
    flows[5].open_at(trace, 1.5)
    trace.outside(1.6, Tcp(7).syn())
    result = gate([acme()], [web(1, connections=3)]).play(trace)

    assert result.refusals("acme") == {"connections": 2}
    assert [Ether(frame)[TCP].dport for frame in result.answers] == [flows[3].sport, 7]
    assert result.services["web"]["attempts"] == 7
    assert result.services["web"]["admitted"] == 0  # nobody has asked for work
    assert result.services["web"]["window"] == {"limit": 1, "used": 0, "peak": 0, "debt": 0}


def test_a_request_with_its_syn_needs_a_place_among_the_connections(gate):
    first, second, third, last = together(4, Dialogue)
    request, trace = b"GET / HTTP/1.1\r\n\r\n", Trace()
    trace.outside(1, first.syn(request))
    trace.outside(1.01, second.syn(request))  # there are slots
    trace.outside(1.02, third.syn())
    trace.inside(1.03, first.replied("RA"))
    trace.outside(1.04, last.syn(request))
    result = gate([acme()], [web(9, connections=1)]).play(trace)

    assert result.to_inside == [first.syn(request), last.syn(request)]
    assert result.refusals("acme") == {"connections": 2}
    assert result.services["web"]["attempts"] == 4
    assert result.services["web"]["connections"]["used"] == 1
    assert result.used("web") == 1


def test_a_slot_from_the_first_byte_to_the_end_of_the_reply(gate):
    """Requests of others are turned away while it is held, and let in once it is not."""
    trace = Trace()
    first, *probes = opened(trace, 8)
    asked = {}

    def probe(at, i):
        asked[i] = probes[i].asks(b"GET /%d HTTP/1.1\r\n\r\n" % i)
        trace.outside(at, asked[i])

    trace.outside(2, first.asks(b"POST / HTTP/1.1\r\n"))
    probe(2.01, 0)
    trace.outside(2.015, first.asks(b"Content-Length: 2\r\n\r\nhi"))  # more of the same request
    trace.inside(2.02, first.answers())
    probe(2.03, 1)
    trace.inside(2.06, first.answers(b"more"))
    probe(2.105, 2)
    probe(2.115, 3)  # silent for 50 ms and a little: the reply has ended
    trace.inside(2.12, probes[3].answers(flags="FA"))  # as here, by the service's FIN
    probe(2.13, 4)
    trace.inside(2.14, probes[4].replied("RA"))  # by its RST
    probe(2.15, 5)
    trace.inside(2.16, probes[5].answers())
    trace.outside(2.17, probes[5].asks())  # and by the next request
    probe(2.18, 6)
    result = gate([acme()], [web(1)]).play(trace)

    assert {i for i, request in asked.items() if is_asked(result, request)} == {3, 4, 5}
    assert result.refusals("acme") == {"capacity": 4}
    assert outcomes(result) == {"finished": 3, "reset": 1}
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}
    tenant = result.tenants["acme"]
    assert (tenant["attempts"], tenant["admitted"]) == (8 + 1, 5)


def test_a_reply_that_pauses_takes_its_slot_again_on_debt(gate):
    trace = Trace()
    slow, *probes = opened(trace, 5)
    asked = []

    def probe(at, ends=True):
        asked.append(probes[len(asked)].asks())
        trace.outside(at, asked[-1])
        if ends:
            trace.inside(at + 0.01, probes[len(asked) - 1].answers(flags="FA"))

    trace.outside(2, slow.asks())
    begin = slow.answers()
    trace.inside(2.01, begin)
    probe(2.08)  # in the pause
    trace.inside(2.2, begin)  # it had been lost
    probe(2.21)
    trace.inside(2.3, slow.answers(b"more"))
    probe(2.31, ends=False)
    trace.inside(2.32, slow.answers(b"still more"))
    probe(2.38, ends=False)  # silent again, for 50 ms and a little
    trace.inside(2.4, slow.answers(b"the rest"))
    result = gate([acme()], [web(1)]).play(trace)

    assert [is_asked(result, request) for request in asked] == [True, True, False, True]
    assert result.refusals("acme") == {"capacity": 1}
    service = result.services["web"]
    assert (service["admitted"], service["adopted"]) == (4, 2)
    assert service["window"] == {"limit": 1, "used": 2, "peak": 2, "debt": 1}
    assert outcomes(result) == {"finished": 4}  # its pauses are two of them


def test_a_client_that_closes_or_resets_keeps_its_slot_until_the_service_ends(gate):
    trace = Trace()
    closes, resets, early, late = opened(trace, 4)
    trace.outside(2, closes.asks(flags="FPA"))
    trace.outside(2.01, early.asks())
    trace.inside(2.02, closes.answers(flags="FA"))
    trace.outside(2.03, resets.asks())
    trace.outside(2.04, resets.sent("R", seq=1001 + resets.said))
    trace.outside(3.5, late.asks())  # linger is over
    result = gate([acme()], [web(1)]).play(trace)

    assert result.refusals("acme") == {"capacity": 1}
    assert outcomes(result) == {"finished": 1, "aborted": 1}
    assert result.services["web"]["admitted"] == 3
    assert result.used("web") == 1


def test_turns_are_attempts_and_pay_their_own_quota(gate):
    trace = Trace()
    flow, = opened(trace, 1)
    requests = []
    for turn in range(4):  # half a second apart, in two parts each, the second with the reply
        requests.append(flow.asks())
        trace.outside(2 + turn / 2, requests[-1])
        trace.outside(2.001 + turn / 2, flow.asks(b"part"))
        trace.inside(2.01 + turn / 2, flow.answers())
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 2})], [web(1)]).play(trace)

    # The connection brings the first request with it; the fourth has no token.
    tenant = result.tenants["acme"]
    assert (tenant["offered"], tenant["attempts"], tenant["admitted"]) == (4, 4, 3)
    assert result.refusals("acme") == {"rate": 1}
    assert result.tokens("acme") == 0
    assert [is_asked(result, request) for request in requests] == [True, True, True, False]
    # What was on its way of the connection that is over goes nowhere.
    assert result.drops() == {"cancelled": 2}
    assert outcomes(result) == {"finished": 3}


def test_a_request_that_waits_is_let_in_when_its_turn_comes(gate):
    trace = Trace()
    busy, second, third, fourth = opened(trace, 4)
    first = busy.asks()
    trace.outside(2, first)
    waiting = [flow.asks(b"GET /%d HTTP/1.1\r\n\r\n" % i)
               for i, flow in enumerate((second, third, fourth))]
    for i, request in enumerate(waiting):
        trace.outside(2.01 + i / 100, request)
    trace.outside(2.035, waiting[1])  # again
    trace.inside(2.037, third.replied("A"))  # and a bare ACK of the service's changes nothing
    reply = busy.answers(flags="FA")
    trace.inside(2.04, reply)
    trace.inside(2.05, second.answers())
    again = second.asks(b"GET /again HTTP/1.1\r\n\r\n")
    trace.outside(2.06, again)  # its next request queues behind the others
    trace.inside(2.07, third.answers(flags="FA"))
    trace.outside(3, ELSEWHERE.syn())
    result = gate([acme()], [web(1, wait={"places": 2, "age": "100ms"})]).play(trace)

    assert [frame for frame in result.to_inside if "P" in Ether(frame)[TCP].flags] == [
        first, waiting[0], waiting[1], again]
    assert result.refusals("acme") == {"capacity": 1}  # the fourth, at once
    assert result.outside.index(result.answers[0]) < result.outside.index(reply)
    tenant = result.tenants["acme"]
    assert (tenant["attempts"], tenant["attempt_packets"], tenant["waited"]) == (5, 6, 3)
    assert result.drops() == {"duplicate": 1}
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}


def test_a_client_that_leaves_while_its_request_waits(gate):
    trace = Trace(silent=0)
    busy, resets, closes, other = opened(trace, 4)
    trace.outside(2, busy.asks())
    for i, flow in enumerate((resets, closes, other)):
        trace.outside(2.01 + i / 1000, flow.asks())
    trace.outside(2.02, resets.sent("R", seq=1001))  # the service knows the connection
    trace.outside(2.03, closes.sent("FA", seq=1001))
    trace.inside(2.05, busy.answers(flags="FA"))
    result = gate([acme()], [web(1, wait={"places": 3, "age": "100ms"})]).play(trace)

    assert result.drops() == {"cancelled": 2}
    assert resets.sent("R", seq=1001) in result.to_inside
    tenant = result.tenants["acme"]
    assert (tenant["waited"], tenant["cancelled"], tenant["admitted"]) == (3, 2, 1)
    assert result.worker["held"] == 1


def test_a_request_with_its_syn_takes_both_at_once(gate):
    """TCP Fast Open: the connection is counted, and the request asks for its slot."""
    fast, other, trace = *together(2, Dialogue), Trace()
    trace.outside(1, fast.sent("S", b"GET / HTTP/1.1\r\n\r\n"))
    trace.outside(1.01, other.sent("S", b"GET / HTTP/1.1\r\n\r\n"))
    trace.inside(1.02, fast.replied("SA", ack=1019))
    fast.said = 18
    trace.outside(1.03, fast.sent("A", seq=1019))
    trace.inside(1.04, fast.answers(flags="FA"))
    trace.outside(1.05, fast.asks(b"", flags="FA"))
    trace.outside(1.1, ELSEWHERE.syn())
    result = gate([acme()], [web(1)]).play(trace)

    assert result.services["web"]["attempts"] == 2
    assert result.services["web"]["admitted"] == 1
    assert result.refusals("acme") == {"capacity": 1}
    assert outcomes(result) == {"finished": 1}
    assert result.used("web") == 0
