# SPDX-License-Identifier: BSD-3-Clause
"""Attempts that wait for a slot: who waits, for how long, and what becomes of them."""

from scapy.all import TCP, Ether

from frames import SERVICE, Dialogue, Tcp, together
from gate import Trace

AGE_S = 0.1
ELSEWHERE = Tcp(1, dst="10.9.0.99")  # its packets let time pass


def web(window, places, **more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "window": window, "wait": {"places": places, "age": "100ms"}, **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


def answered(result):
    """Whom the gate told no, by port, in that order."""
    return [Ether(frame)[TCP].dport for frame in result.answers]


def test_the_window_then_the_places_then_no_at_once(gate):
    flows, trace = together(9), Trace()
    for i, flow in enumerate(flows[:6]):
        flow.open_at(trace, 1 + i / 100)
    for i, flow in enumerate(flows[6:]):
        trace.outside(1.1 + i / 100, flow.syn())
    for i, flow in enumerate(flows[:2]):  # slots come free one by one
        flow.close_at(trace, 1.15 + i / 50)
    trace.outside(2, ELSEWHERE.syn())
    result = gate([acme()], [web(6, 2)]).play(trace)

    service, tenant = result.services["web"], result.tenants["acme"]
    assert (service["attempts"], service["admitted"]) == (9, 8)
    assert service["refused"]["capacity"] == 1
    assert (tenant["waited"], tenant["cancelled"]) == (2, 0)
    assert service["window"] == {"limit": 6, "used": 6, "peak": 6, "debt": 0}
    # The ninth hears it before anybody leaves; the others enter in order as slots come free.
    assert answered(result) == [flows[8].sport]
    assert result.outside.index(result.answers[0]) < result.outside.index(flows[0].replied("FA"))
    entered = [result.to_inside.index(flow.syn()) for flow in flows[6:8]]
    left = [result.to_inside.index(flow.sent("FA")) for flow in flows[:2]]
    assert left[0] < entered[0] < left[1] < entered[1]
    assert result.worker["held"] == 0
    assert result.passes() == {"attempt": 8, "flow": 12 + 6, "unnamed": 1}


def test_who_waited_too_long_is_told_so_and_pays_nothing(gate):
    holder, waiter, trace = *together(2), Trace()
    holder.open_at(trace, 1)
    trace.outside(1.1, waiter.syn())
    trace.outside(1.1 + AGE_S - 0.002, ELSEWHERE.syn())
    trace.outside(1.1 + AGE_S + 0.002, ELSEWHERE.syn())
    holder.close_at(trace, 1.3)  # there is a slot now, but an answer stands for three seconds
    trace.outside(1.7, waiter.syn())
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 9})],
                  [web(1, 1)]).play(trace)

    assert answered(result) == [waiter.sport] * 2
    first = result.outside.index(result.answers[0])
    assert result.outside.index(holder.replied("SA")) < first
    assert first < result.outside.index(holder.replied("FA"))
    tenant = result.tenants["acme"]
    assert (tenant["offered"], tenant["attempts"], tenant["attempt_packets"]) == (2, 2, 3)
    assert (tenant["admitted"], tenant["waited"]) == (1, 1)
    assert result.refusals("acme") == {"capacity": 1}
    assert result.tokens("acme") == 9
    assert waiter.syn() not in result.to_inside
    assert result.used("web") == 0


def test_a_repeated_syn_of_one_who_waits_is_a_duplicate(gate):
    holder, waiter, trace = *together(2), Trace()
    holder.open_at(trace, 1)
    for at in (1.1, 1.12, 1.14):
        trace.outside(at, waiter.syn())
    holder.close_at(trace, 1.15)
    trace.outside(1.16, waiter.syn())  # and once more when it has entered: that one passes
    result = gate([acme()], [web(1, 1)]).play(trace)

    assert result.drops() == {"duplicate": 2}
    tenant = result.tenants["acme"]
    assert (tenant["offered"], tenant["attempts"], tenant["attempt_packets"]) == (2, 2, 5)
    assert (tenant["admitted"], tenant["waited"]) == (2, 1)
    assert result.to_inside.count(waiter.syn()) == 2
    assert result.answers == []


def test_a_client_that_gives_up_waiting_is_forgotten(gate):
    holder, resets, finishes, again, trace = *together(4), Trace()
    holder.open_at(trace, 1)
    for flow in (resets, finishes, again):
        trace.outside(1.1, flow.syn())
    trace.outside(1.12, resets.sent("R", seq=1001))
    trace.outside(1.13, finishes.sent("FA"))
    trace.outside(1.14, again.sent("RA"))
    trace.outside(1.145, again.sent("A", b"late"))  # of what has ended
    trace.outside(1.15, Tcp(again.sport, src=again.src, isn=9000).syn())
    holder.close_at(trace, 1.17)
    trace.outside(1.3, ELSEWHERE.syn())
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 9})],
                  [web(1, 3)]).play(trace)

    # Three SYNs, what ended them, and what came behind; only the new one is ever seen.
    assert result.drops() == {"cancelled": 7}
    tenant = result.tenants["acme"]
    assert (tenant["attempts"], tenant["admitted"], tenant["cancelled"]) == (5, 2, 3)
    assert (tenant["waited"], result.refusals("acme")) == (4, {})
    assert result.tokens("acme") == 8
    assert result.to_inside == [holder.syn(), holder.sent("A"), holder.sent("FA"),
                                Tcp(again.sport, src=again.src, isn=9000).syn(),
                                holder.sent("A"), ELSEWHERE.syn()]
    assert result.answers == []
    assert result.used("web") == 1


def test_a_critical_attempt_takes_the_place_of_the_newest_bulk_one(gate):
    *holders, first, second, trace = *together(4), Trace()
    alarm, = together(1, network="10.2")
    for i, flow in enumerate(holders):
        flow.open_at(trace, 1 + i / 100)
    for i, flow in enumerate((first, second, alarm)):
        trace.outside(1.1 + i / 100, flow.syn())
    for i, flow in enumerate(holders):
        flow.close_at(trace, 1.15 + i / 100)
    tenants = [acme(**{"class": "bulk"}),
               {"name": "alarms", "prefixes": ["10.2.0.0/16"], "class": "critical"}]
    result = gate(tenants, [web(2, 2)]).play(trace)

    assert answered(result) == [second.sport]
    assert result.outside.index(result.answers[0]) < result.outside.index(holders[0].replied("FA"))
    assert result.refusals("acme") == {"capacity": 1}
    assert result.tenants["acme"]["waited"] == 2
    assert result.tenants["alarms"]["admitted"] == result.tenants["alarms"]["waited"] == 1
    assert {first.syn(), alarm.syn()} <= set(result.to_inside)


def test_a_daemon_that_stops_answers_those_who_wait(gate):
    """Also with requests on open connections: both sides are told."""
    holder, flow, trace = *together(2), Trace()
    speaker, = together(1, Dialogue, network="10.2", dport=81)
    busy, = together(1, Dialogue, network="10.3", dport=81)
    holder.open_at(trace, 1)
    for dialogue in (speaker, busy):
        dialogue.open_at(trace, 1.01)
    trace.outside(1.02, busy.asks())
    question = speaker.asks()
    trace.outside(1.03, question)
    trace.outside(1.04, flow.syn())
    turns = {**web(1, 2, unit="exchange"), "name": "turns", "ports": ["81"]}
    result = gate([acme()], [web(1, 2), turns]).play(trace.sorted())

    assert result.worker["held"] == 2
    assert sorted(answered(result)) == sorted((flow.sport, speaker.sport))
    assert flow.syn() not in result.to_inside and question not in result.to_inside
    reset, = result.resets
    assert (Ether(reset)[TCP].sport, Ether(reset)[TCP].seq) == (speaker.sport, 1001)


def test_the_life_of_who_waited_begins_when_the_service_hears_of_it(gate):
    """Not when it came: 3.9 s would be longer than a SYN may go unanswered."""
    holder, waiter, trace = *together(2), Trace()
    holder.open_at(trace, 1)
    trace.outside(1.1, waiter.syn())
    holder.close_at(trace, 5)
    trace.inside(5.5, waiter.replied("SA"))
    trace.outside(5.501, waiter.sent("A"))
    result = gate([acme()], [web(1, 1, wait={"places": 1, "age": "5s"})]).play(trace)

    assert result.services["web"]["outcomes"] == {"finished": 1, "reset": 0, "aborted": 0,
                                                  "aged": 0}
    assert result.passes() == {"attempt": 2, "flow": 2 + 3 + 2}
    assert result.used("web") == 1
