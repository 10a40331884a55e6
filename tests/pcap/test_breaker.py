# SPDX-License-Identifier: BSD-3-Clause
"""A backend that does not answer, or only with errors, is left alone for a while."""

import pytest

from frames import SERVICE, Dialogue, Tcp, Udp, together
from gate import Trace

# The first period is a second, a tenth more or less by chance, and what is overdue is found within
# a sweep of the table.
OPEN_MIN_S, OPEN_MAX_S = 0.9, 1.1
ANSWER_S, SWEEP_S = 1, 0.256
RAMP_S = 5


def web(**more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "window": 64, "breaker": {"failures": 3, "open": "1s", **more}}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


def entered(result, *flows):
    return [flow.syn() in result.to_inside for flow in flows]


def exchange(trace, flow, at, reply=b"HTTP/1.1 200 OK\r\n\r\n"):
    """A connection, a request and the first bytes of its reply; 2 ms after `at`, and 3."""
    flow.open_at(trace, at)
    trace.outside(at + 0.002, flow.asks())
    trace.inside(at + 0.003, flow.answers(reply))


def test_syns_without_an_answer_open_it_and_the_first_byte_closes_it(gate):
    flows, trace = together(12, Dialogue), Trace()
    for i, flow in enumerate(flows[:3]):
        trace.outside(1 + i / 1000, flow.syn())
    # Two failures are not three: the third is not overdue.
    trace.outside(1.001 + ANSWER_S, flows[3].syn())
    trace.inside(1.002 + ANSWER_S, flows[3].replied("SA"))
    opened = 1.002 + ANSWER_S  # at the earliest, and a sweep later at the latest
    trace.outside(opened + SWEEP_S + 0.01, flows[4].syn())
    trace.outside(opened + OPEN_MIN_S - 0.01, flows[5].syn())
    trial = opened + SWEEP_S + OPEN_MAX_S + 0.01
    trace.outside(trial, flows[6].syn())
    trace.outside(trial + 0.001, flows[7].syn())  # one trial, no more
    trace.inside(trial + 0.002, flows[6].replied("SA"))
    trace.outside(trial + 0.003, flows[6].asks())
    trace.outside(trial + 0.004, flows[8].syn())
    trace.inside(trial + 0.1, flows[6].answers())
    for i, flow in enumerate(flows[9:]):  # after the ramp everybody is let in
        trace.outside(trial + 0.11 + RAMP_S + i / 1000, flow.syn())
    result = gate([acme()], [web()]).play(trace)

    assert entered(result, *flows) == [True] * 4 + [False, False, True, False, False] + [True] * 3
    assert result.refusals("acme") == {"breaker": 4}
    assert len(result.answers) == 4
    assert result.services["web"]["admitted"] == 8


def test_a_syn_ack_closes_nothing(gate):
    """A stopped process still completes handshakes. A trial without a byte has failed after 2 s."""
    flows, trace = together(6), Trace()
    for i, flow in enumerate(flows[:3]):
        trace.outside(1 + i / 100, flow.syn())
        trace.inside(1.003 + i / 100, flow.replied("RA"))
    trial = 1.023 + OPEN_MAX_S + 0.01
    for at, flow in ((trial, flows[3]), (trial + 2 + 2 * OPEN_MAX_S + 0.01, flows[4])):
        flow.open_at(trace, at)
    trace.outside(trial + RAMP_S + 0.1, flows[5].syn())  # the second trial is under way
    result = gate([acme()], [web()]).play(trace)

    assert entered(result, *flows) == [True] * 5 + [False]
    assert result.refusals("acme") == {"breaker": 1}


@pytest.mark.parametrize("when", ["SYN", "request"])
def test_resets_before_a_byte_open_it(gate, when):
    flows, trace = together(6, Dialogue), Trace()
    for i, flow in enumerate(flows[:3]):
        at = 1 + i / 100
        if when == "request":
            flow.open_at(trace, at)
            trace.outside(at + 0.002, flow.asks())
        else:
            trace.outside(at, flow.syn())
        trace.inside(at + 0.003, flow.replied("RA"))
    trace.outside(1.024, flows[3].syn())
    trace.outside(1.023 + OPEN_MIN_S - 0.01, flows[4].syn())
    trace.outside(1.023 + OPEN_MAX_S + 0.01, flows[5].syn())
    result = gate([acme()], [web()]).play(trace)

    assert entered(result, *flows) == [True] * 3 + [False, False, True]
    assert result.refusals("acme") == {"breaker": 2}
    assert result.services["web"]["outcomes"]["reset"] == 3


def test_a_trial_that_fails_opens_it_for_twice_as_long(gate):
    flows, trace = together(7), Trace()
    for i, flow in enumerate(flows[:3]):
        trace.outside(1 + i / 100, flow.syn())
        trace.inside(1.003 + i / 100, flow.replied("RA"))
    trial = 1.023 + OPEN_MAX_S + 0.01
    trace.outside(trial, flows[3].syn())
    trace.inside(trial + 0.01, flows[3].replied("RA"))
    trace.outside(trial + 0.01 + OPEN_MAX_S + 0.01, flows[4].syn())
    trace.outside(trial + 0.01 + 2 * OPEN_MIN_S - 0.01, flows[5].syn())
    trace.outside(trial + 0.01 + 2 * OPEN_MAX_S + 0.01, flows[6].syn())
    result = gate([acme()], [web()]).play(trace)

    assert entered(result, *flows) == [True] * 4 + [False, False, True]
    assert result.refusals("acme") == {"breaker": 2}


def test_replies_that_say_they_failed_open_it(gate):
    """In a row: one that did not begins the count anew. Replies that cannot be read are none."""
    flows, trace = together(8, Dialogue), Trace()
    replies = [b"HTTP/1.1 503 Service Unavailable\r\n\r\n"] * 2 + [b"\x17\x03\x03\x01\x00"]
    replies += [b"HTTP/1.1 500 Internal Server Error\r\n\r\n"] * 3
    for i, (flow, reply) in enumerate(zip(flows, replies)):
        exchange(trace, flow, 1 + i / 100, reply)
    trace.outside(1.054, flows[6].syn())
    trace.outside(1.053 + OPEN_MAX_S + 0.01, flows[7].syn())
    result = gate([acme()], [web()]).play(trace)

    assert entered(result, *flows) == [True] * 6 + [False, True]
    assert result.refusals("acme") == {"breaker": 1}


def test_replies_that_do_not_begin_in_time_open_it(gate):
    flows, trace = together(6, Dialogue), Trace()
    for i, flow in enumerate(flows[:3]):
        flow.open_at(trace, 1 + i / 100)
        trace.outside(1.5 + i / 1000, flow.asks())
    overdue = 1.5 + 0.7  # the connection may be as old as it likes
    trace.outside(overdue - 0.01, flows[3].syn())
    trace.inside(overdue - 0.005, flows[3].replied("SA"))
    trace.outside(overdue + 0.02 + SWEEP_S + 0.01, flows[4].syn())
    trace.inside(3, flows[0].answers())  # late: not of a trial, and changes nothing
    trace.outside(overdue + 0.02 + SWEEP_S + OPEN_MAX_S + 0.01, flows[5].syn())
    result = gate([acme()], [web(response="700ms")]).play(trace.sorted())

    assert entered(result, *flows) == [True] * 4 + [False, True]
    assert result.refusals("acme") == {"breaker": 1}


def test_a_connection_that_is_asked_late_is_not_overdue(gate):
    flows, trace = together(4, Dialogue), Trace()
    for i, flow in enumerate(flows[:3]):
        flow.open_at(trace, 1 + i / 100)
        trace.outside(3 + i / 1000, flow.asks())
        trace.inside(3.5 + i / 1000, flow.answers())
    trace.outside(3.6, flows[3].syn())
    result = gate([acme()], [web(response="700ms")]).play(trace.sorted())

    assert entered(result, *flows) == [True] * 4
    assert result.refusals("acme") == {}


@pytest.mark.parametrize("unit", ["connection", "exchange"])
def test_a_request_that_goes_on_is_not_overdue(gate, unit):
    """An upload of two seconds: as long as the service takes it, nothing else is owed."""
    flows, trace = together(6, Dialogue), Trace(silent=2 * (unit == "exchange"))
    for i, flow in enumerate(flows[:3]):
        flow.open_at(trace, 1 + i / 100)
        for part in range(20):
            at = 2 + part / 10 + i / 1000
            trace.outside(at, flow.asks(b"part"))
            trace.inside(at + 0.0005, flow.replied("A", ack=flow.isn + 1 + flow.said))
    overdue = 3.9 + 0.7
    for at, flow in ((2 + 0.7 + SWEEP_S + 0.01, flows[3]), (overdue - 0.01, flows[4])):
        trace.outside(at, flow.syn())
        trace.inside(at + 0.005, flow.replied("SA"))
    trace.outside(overdue + 0.01 + SWEEP_S, flows[5].syn())
    service = {**web(response="700ms"), "unit": unit}
    result = gate([acme()], [service]).play(trace.sorted())

    assert entered(result, *flows) == [True] * 5 + [False]
    assert result.refusals("acme") == {"breaker": 1}


@pytest.mark.parametrize("confirmed", [True, False])
def test_nothing_is_owed_to_who_has_not_shown_that_he_is_there(gate, confirmed):
    """Requests that come with their SYN, of addresses that may be forged."""
    flows, trace = together(4, Dialogue), Trace(silent=int(not confirmed))
    for i, flow in enumerate(flows[:3]):
        trace.outside(1 + i / 100, flow.sent("S", b"GET / HTTP/1.1\r\n\r\n"))
        trace.inside(1.001 + i / 100, flow.replied("SA", ack=1019))
        if confirmed:
            trace.outside(1.002 + i / 100, flow.sent("A", seq=1019))
    trace.outside(1.021 + 0.7 + SWEEP_S + 0.01, flows[3].syn())
    service = {**web(response="700ms"), "unit": "exchange"}
    result = gate([acme()], [service]).play(trace)

    assert entered(result, flows[3]) == [not confirmed]
    assert result.refusals("acme") == ({"breaker": 1} if confirmed else {})
    assert result.used("web") == 3


def test_a_long_wait_is_not_held_against_the_service(gate):
    """It has heard of them 0.4 s ago; they came 1.8 s ago."""
    flows, trace = together(7), Trace()
    for i in range(3):
        flows[i].open_at(trace, 1 + i / 100)
        trace.outside(1.1 + i / 100, flows[3 + i].syn())
        flows[i].close_at(trace, 2.5 + i / 100)
        trace.inside(2.9 + i / 100, flows[3 + i].replied("SA"))
        trace.outside(2.901 + i / 100, flows[3 + i].sent("A"))
        flows[3 + i].close_at(trace, 3 + i / 100)
    trace.outside(3.1, flows[6].syn())
    service = {**web(), "window": 3, "wait": {"places": 3, "age": "5s"}}
    result = gate([acme()], [service]).play(trace.sorted())

    assert entered(result, *flows) == [True] * 7
    assert result.refusals("acme") == {}
    assert result.tenants["acme"]["waited"] == 3


@pytest.mark.parametrize("answers", [False, True])
def test_a_datagram_service_that_falls_silent_is_left_alone(gate, answers):
    """Asking again is no answer, and gives it no more time."""
    flows, trace = together(6, Udp), Trace()
    for i, flow in enumerate(flows[:3]):
        trace.outside(1 + i / 100, flow.asked())
        trace.outside(1.5 + i / 100, flow.asked())
    overdue = 1 + 0.7
    trace.outside(overdue + 0.01, flows[3].asked(b"before the third"))
    if answers:
        for at, flow in ((1.6, flows[1]), (overdue + 0.03, flows[3]), (2.1, flows[4])):
            trace.inside(at, flow.replied())
    trace.outside(overdue + 0.02 + SWEEP_S + 0.01, flows[4].asked(b"after it"))
    trace.outside(overdue + 0.02 + SWEEP_S + OPEN_MAX_S + 0.01, flows[5].asked(b"a trial"))
    dns = {**web(response="700ms"), "name": "dns", "protocol": "udp", "ports": ["53"]}
    result = gate([acme()], [dns]).play(trace.sorted())

    asked = [flows[3].asked(b"before the third"), flows[4].asked(b"after it"),
             flows[5].asked(b"a trial")]
    assert [frame in result.to_inside for frame in asked] == [True, answers, True]
    assert result.refusals("acme") == ({} if answers else {"breaker": 1})


def test_refusals_of_our_own_are_no_failures(gate):
    trace = Trace()
    flows = together(40)
    for i, flow in enumerate(flows):
        trace.outside(1 + i / 1000, flow.syn())
        trace.outside(1.0005 + i / 1000, flow.sent("R"))
    other = Tcp(7, src="10.2.0.1")
    trace.outside(4.5, other.syn())
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 1})], [web()]).play(trace)

    assert result.refusals("acme") == {"rate": 38}
    assert entered(result, *flows[:3], other) == [True, True, False, True]


def test_a_breaker_that_opens_sends_away_who_waits(gate):
    flows, trace = together(6), Trace()
    for i, flow in enumerate(flows[:3]):
        trace.outside(1 + i / 100, flow.syn())
    for i, flow in enumerate(flows[3:]):
        trace.outside(1.03 + i / 1000, flow.syn())
    for i, flow in enumerate(flows[:3]):
        trace.inside(1.04 + i / 1000, flow.replied("RA"))
    trace.outside(1.06, Tcp(7, dst="10.9.0.99").syn())
    service = {**web(), "window": 3, "wait": {"places": 3, "age": "100ms"}}
    result = gate([acme()], [service]).play(trace)

    # Two enter on the slots of the first two; the third failure opens it.
    assert entered(result, *flows) == [True] * 5 + [False]
    assert result.refusals("acme") == {"breaker": 1}
    assert result.tenants["acme"]["waited"] == 3
    assert len(result.answers) == 1
    assert result.used("web") == 2
