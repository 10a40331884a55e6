# SPDX-License-Identifier: BSD-3-Clause
"""Flows that fall silent: every slot comes back, and none is taken from work that runs."""

from frames import SERVICE, Tcp
from gate import Trace


def web(window, **more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "window": window, **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


def test_case_B05_peers_that_vanish_give_back_every_slot(gate):
    trace = Trace()
    lost, later = ([Tcp(first + i) for i in range(20)] for first in (40000, 41000))
    for i, flow in enumerate(lost):
        flow.open_at(trace, 1 + i / 100)
    trace.outside(60.9, Tcp(9).syn())  # the first of them has been silent for 59.9 s
    for i, flow in enumerate(later):  # the last for 60 s, and the table has been swept since
        flow.open_at(trace, 61.5 + i / 100)
    trace.outside(62, Tcp(10).syn())
    result = gate([acme()], [web(20)], flows={"tcp_idle": "60s"}).play(trace)

    assert result.services["web"]["admitted"] == 40
    assert result.refusals("acme") == {"capacity": 2}
    assert result.services["web"]["outcomes"]["aged"] == result.worker["aged_slots"] == 20
    assert result.services["web"]["window"] == {"limit": 20, "used": 20, "peak": 20, "debt": 0}
    assert result.worker["flows"]["used"] == 20


def test_case_B05_data_after_the_timeout_passes_and_is_not_billed(gate):
    client, service, both = (Tcp(40000 + i) for i in range(3))
    trace = Trace()
    for i, flow in enumerate((client, service, both)):
        flow.open_at(trace, 1 + i / 100)
    trace.outside(70, client.sent("PA", b"still there?"))
    trace.inside(70.1, service.replied("PA", b"news"))
    trace.outside(70.2, both.sent("PA", b"still there?"))
    trace.inside(70.3, both.replied("PA", b"yes"))
    trace.outside(70.4, both.sent("A"))
    quota = {"attempts": "1/day", "attempts_burst": 2}
    result = gate([acme(quota=quota)], [web(3)], flows={"tcp_idle": "60s"}).play(trace)

    tenant = result.tenants["acme"]
    assert (tenant["offered"], tenant["attempts"], tenant["admitted"]) == (3, 3, 3)
    assert result.refusals("acme") == {}
    assert result.tokens("acme") == 0
    # What the service speaks on runs, and takes its slot again; a client alone proves nothing.
    assert tenant["adopted"] == 2
    assert result.used("web") == 2
    assert result.passes() == {"attempt": 3, "flow": 6 + 1, "midflow": 2, "inside": 2}
    assert result.to_inside == trace.sent("outside")
    assert result.to_outside == trace.sent("inside")


def test_case_B05_a_handshake_that_ends_too_late_is_running_work(gate):
    """Its slot has gone to another; it takes one again when its service speaks."""
    late, other, third = (Tcp(40001 + i) for i in range(3))
    trace = Trace()
    trace.outside(1, late.syn())
    trace.inside(1.1, late.replied("SA"))
    other.open_at(trace, 5)
    trace.outside(6, late.sent("A"))
    trace.outside(6.1, late.sent("PA", b"question"))
    trace.inside(6.2, late.replied("PA", b"answer"))
    other.close_at(trace, 6.3)
    trace.outside(6.4, third.syn())
    result = gate([acme()], [web(1)], flows={"embryonic": "3s"}).play(trace)

    tenant = result.tenants["acme"]
    assert (tenant["attempts"], tenant["admitted"], tenant["adopted"]) == (3, 2, 1)
    assert result.refusals("acme") == {"capacity": 1}
    assert result.services["web"]["window"] == {"limit": 1, "used": 1, "peak": 2, "debt": 0}
    assert result.services["web"]["outcomes"] == {"finished": 1, "reset": 0, "aborted": 0,
                                                  "aged": 1}
    assert result.passes()["midflow"] == 2


def test_no_slot_is_freed_by_age_while_a_reply_is_owed(gate):
    owes, idle = Tcp(40001), Tcp(40002)
    trace = Trace()
    owes.open_at(trace, 1)
    idle.open_at(trace, 1.1)
    trace.outside(2, owes.sent("PA", b"something slow"))
    trace.outside(100, Tcp(40003).syn())  # in the place of the idle one
    trace.inside(100.1, Tcp(40003).replied("RA"))
    Tcp(40004).open_at(trace, 301)
    trace.outside(301.9, Tcp(40005).syn())  # it has been owed for 299.9 s
    trace.outside(302.3, Tcp(40006).syn())
    result = gate([acme()], [web(2)],
                  flows={"tcp_idle": "60s", "owed_max": "300s"}).play(trace)

    assert result.refusals("acme") == {"capacity": 1}
    assert Tcp(40006).syn() in result.to_inside
    assert result.services["web"]["outcomes"] == {"finished": 0, "reset": 1, "aborted": 0,
                                                  "aged": 2}


def test_a_reply_that_has_begun_is_owed_no_more(gate):
    """In one long silence, too: it is judged as it passes, not by the packet that ends it."""
    answered, slow = Tcp(40001), Tcp(40002)
    trace = Trace()
    for i, flow in enumerate((answered, slow)):
        flow.open_at(trace, 1 + i / 100)
        trace.outside(2, flow.sent("PA", b"question"))
    trace.inside(2.1, answered.replied("PA", b"a"))
    trace.outside(301.9, Tcp(40003).syn())
    trace.inside(301.95, slow.replied("A"))  # still at it
    trace.outside(500, Tcp(40004).syn())
    trace.outside(700, Tcp(40005).syn())
    result = gate([acme()], [web(2)],
                  flows={"tcp_idle": "60s", "owed_max": "300s"}).play(trace.sorted())

    # Of the SYNs each is given up after 3 s; the slow one after 300 s without a sign of life.
    assert result.services["web"]["admitted"] == 5
    assert result.services["web"]["outcomes"]["aged"] == 4
    assert result.services["web"]["window"] == {"limit": 2, "used": 1, "peak": 2, "debt": 0}
