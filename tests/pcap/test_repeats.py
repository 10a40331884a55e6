# SPDX-License-Identifier: BSD-3-Clause
"""One piece of work asked for more than once, and its ports used for another."""

from scapy.all import TCP, Ether

from frames import SERVICE, Dialogue, Tcp
from gate import Trace

TEN_A_DAY = {"attempts": "1/day", "attempts_burst": 9}


def web(window, **more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "window": window, **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], "quota": TEN_A_DAY, **more}


def counts(result):
    """Pieces of work, tries at them, and packets that carried the tries."""
    tenant = result.tenants["acme"]
    return tenant["offered"], tenant["attempts"], tenant["attempt_packets"]


def test_case_B01_three_syns_then_a_handshake_are_one(gate):
    flow, trace = Tcp(40001), Trace()
    for at in (0, 1, 3):  # as Linux repeats it
        trace.outside(at, flow.syn())
    trace.inside(3.1, flow.replied("SA"))
    trace.outside(3.2, flow.sent("A"))
    trace.outside(3.3, Tcp(40002, src="10.1.0.2").syn())
    trace.outside(3.4, flow.sent("PA", b"GET"))
    result = gate([acme()], [web(1)]).play(trace)

    assert counts(result) == (2, 2, 4)
    assert result.tenants["acme"]["admitted"] == 1
    assert result.refusals("acme") == {"capacity": 1}
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}
    assert result.tokens("acme") == 9
    assert result.to_inside.count(flow.syn()) == 3
    assert result.passes() == {"attempt": 1, "flow": 5}


def test_case_B01_refused_twice_and_then_admitted_is_one_demand(gate):
    holder, flow, trace = Tcp(40001, src="10.1.0.2"), Tcp(40002), Trace()
    holder.open_at(trace, 1)
    for at in (2, 3, 5):
        trace.outside(at, flow.syn())
        if at == 3:
            holder.close_at(trace, 4)
    trace.inside(5.1, flow.replied("SA"))
    trace.outside(5.2, flow.sent("A"))
    result = gate([acme()], [web(1, refuse="drop")]).play(trace)

    # The first two are one attempt, for an answer stands for 3 s; the third is a new one.
    assert counts(result) == (2, 3, 4)
    assert result.refusals("acme") == {"capacity": 1}
    assert result.services["web"]["refused"]["capacity"] == 1
    assert result.services["web"]["unanswered"] == 2
    assert result.drops() == {"capacity": 2}
    assert result.tokens("acme") == 8  # a refusal spends nothing
    assert result.used("web") == 1


def test_case_B01_a_syn_after_the_reset_gets_the_same_answer(gate):
    """Windows asks about three times more, half a second after each RST; slot or no slot."""
    holder, flow, other, trace = (Tcp(40001, src="10.1.0.2"), Tcp(40002),
                                  Tcp(40003, src="10.1.0.3"), Trace())
    holder.open_at(trace, 1)
    trace.outside(2, flow.syn())
    trace.outside(2.5, flow.syn())
    trace.inside(2.6, holder.replied("RA"))
    trace.outside(3, flow.syn())
    trace.outside(3.1, other.syn())
    trace.inside(3.2, other.replied("RA"))
    trace.outside(4.99, flow.syn())
    trace.outside(5.01, flow.syn())  # three seconds after the first answer
    result = gate([acme()], [web(1)]).play(trace)

    assert counts(result) == (3, 4, 7)
    assert result.refusals("acme") == {"capacity": 1}
    assert [Ether(frame)[TCP].dport for frame in result.answers] == [40002] * 4
    assert result.services["web"]["answered"] == 4
    assert result.tokens("acme") == 7
    assert result.to_inside.count(flow.syn()) == 1


def test_case_B02_ports_used_again_after_both_fins(gate):
    first, second, trace = Tcp(40001), Tcp(40001, isn=9000), Trace()
    first.open_at(trace, 1)
    first.close_at(trace, 2)
    second.open_at(trace, 4)
    result = gate([acme()], [web(1)]).play(trace)

    assert counts(result) == (2, 2, 2)
    assert result.tenants["acme"]["admitted"] == 2
    assert result.services["web"]["outcomes"]["finished"] == 1
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}
    assert result.tokens("acme") == 8
    assert result.to_inside == trace.sent("outside")


def test_case_B02_ports_used_again_while_the_old_flow_looks_open(gate):
    """The service knows better, as its SYN-ACK shows: the old slot is freed, a new one taken."""
    first, second, trace = Tcp(40001), Tcp(40001, isn=9000), Trace()
    first.open_at(trace, 1)
    second.open_at(trace, 4)
    trace.outside(4.1, second.sent("PA", b"question"))
    trace.inside(4.2, second.replied("PA", b"answer"))
    second.close_at(trace, 5)
    result = gate([acme()], [web(1)]).play(trace)

    # Until then it was a repeated SYN, which was judged with the first; it is paid for afterwards.
    assert counts(result) == (1, 1, 2)
    assert result.tenants["acme"]["adopted"] == 1
    assert result.services["web"]["outcomes"] == {"finished": 2, "reset": 0, "aborted": 0,
                                                  "aged": 0}
    assert result.services["web"]["window"] == {"limit": 1, "used": 0, "peak": 1, "debt": 0}
    assert result.tokens("acme") == 8
    assert result.to_inside == trace.sent("outside")
    assert result.to_outside == trace.sent("inside")


def test_case_B02_an_old_flow_used_again_needs_no_token(gate):
    """Nobody could refuse it any more."""
    trace = Trace()
    for i in range(3):
        Tcp(40001, isn=1000 * i).open_at(trace, 1 + i)
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 1})],
                  [web(1)]).play(trace)

    assert (result.tokens("acme"), result.tenants["acme"]["adopted"]) == (0, 2)
    assert result.refusals("acme") == result.drops() == {}
    assert result.used("web") == 1


def test_case_B02_an_old_flow_of_exchanges_pays_with_its_first_request(gate):
    first, second, trace = Dialogue(40001), Dialogue(40001, isn=9000), Trace()
    for i, flow in enumerate((first, second)):
        flow.open_at(trace, 1 + i)
        trace.outside(1.5 + i, flow.asks())
        trace.inside(1.6 + i, flow.answers())
    result = gate([acme()], [web(1, unit="exchange")]).play(trace)

    assert counts(result) == (2, 2, 3)
    assert (result.tenants["acme"]["admitted"], result.tokens("acme")) == (2, 8)
    assert result.refusals("acme") == {}


def test_case_B02_a_challenged_syn_changes_nothing(gate):
    """The service still has the connection, and answers the SYN with an ACK (RFC 5961)."""
    flow, trace = Tcp(40001), Trace()
    flow.open_at(trace, 1)
    trace.outside(4, Tcp(40001, isn=9000).syn())
    trace.inside(4.001, flow.replied("A"))
    trace.outside(4.1, flow.sent("PA", b"question"))
    trace.inside(4.2, flow.replied("PA", b"answer"))
    result = gate([acme()], [web(1)]).play(trace)

    assert counts(result) == (1, 1, 2)
    assert result.tenants["acme"]["adopted"] == 0
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}
    assert result.services["web"]["outcomes"]["finished"] == 0


def test_case_B03_forged_resets_free_nothing(gate):
    """
    Nobody can tell a forged RST from a genuine one when it comes; but only of a forged one the
    client speaks on, and is answered.
    """
    forged, genuine, trace = [Tcp(40001 + i) for i in range(3)], Tcp(40010), Trace()
    for i, flow in enumerate((*forged, genuine)):
        flow.open_at(trace, 1 + i / 100)
    for i, flow in enumerate(forged):
        trace.outside(2 + i / 100, flow.sent("R", seq=3000000000))
        trace.outside(2.1 + i / 100, flow.sent("PA", b"question"))
        trace.inside(2.2 + i / 100, flow.replied("PA", b"answer"))
    trace.outside(2.5, genuine.sent("R"))
    trace.inside(2.501, genuine.replied("PA", b"under way"))  # does not revive it
    trace.outside(3, Tcp(40020).syn())  # within `linger`
    for i in range(3):
        trace.outside(4 + i / 100, Tcp(40030 + i).syn())
    result = gate([acme()], [web(4)]).play(trace.sorted())

    assert result.tenants["acme"]["admitted"] == 5
    assert result.refusals("acme") == {"capacity": 3}
    assert result.services["web"]["outcomes"] == {"finished": 0, "reset": 0, "aborted": 1,
                                                  "aged": 0}
    assert result.services["web"]["window"] == {"limit": 4, "used": 4, "peak": 4, "debt": 0}
    assert Tcp(40030).syn() in result.to_inside
