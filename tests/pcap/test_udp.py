# SPDX-License-Identifier: BSD-3-Clause
"""An exchange: a slot from the first datagram to the first reply."""

from frames import SERVICE, Tcp, Udp, together
from gate import Trace


def dns(window):
    return {"name": "dns", "addresses": [SERVICE], "protocol": "udp", "ports": ["53"],
            "window": window}


def test_case_C01_the_slot_ends_with_the_first_reply(gate):
    flow, next_client = Udp(40001), Udp(40002)
    trace = Trace()
    trace.outside(1, flow.asked(b"a"))
    trace.outside(1.1, next_client.asked())  # the window is full
    trace.inside(1.2, flow.replied(b"a1"))
    trace.inside(1.3, flow.replied(b"a2"))  # more of the reply frees nothing more
    trace.outside(1.4, next_client.asked())
    result = gate([], [dns(1)]).play(trace)

    service = result.services["dns"]
    assert (service["attempts"], service["admitted"]) == (3, 2)
    assert service["refused"]["capacity"] == 1
    assert (service["answered"], service["unanswered"]) == (0, 1)  # UDP is refused by silence
    assert service["outcomes"]["finished"] == 1
    assert result.used("dns") == 1
    assert result.drops() == {"capacity": 1}


def test_case_C01_a_retry_takes_no_second_slot(gate):
    flow, other, trace = Udp(40001), Udp(40002, src="10.1.0.2"), Trace()
    for i in range(4):
        trace.outside(1 + i, flow.asked())
    trace.outside(4.5, other.asked())
    trace.inside(4.6, flow.replied())
    trace.outside(4.7, other.asked())
    result = gate([], [dns(1)]).play(trace)

    service = result.services["dns"]
    assert (service["attempts"], service["attempt_packets"], service["admitted"]) == (3, 6, 2)
    assert result.tenants["default"]["offered"] == 2
    assert service["refused"]["capacity"] == 1
    assert service["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}


def test_case_C01_retries_do_not_prolong_it(gate):
    """Ten minutes of one a second, unanswered: each attempt is given up after its 29.5 s."""
    flow, trace = Udp(40001), Trace()
    for second in range(1, 601):
        trace.outside(second, flow.asked())
    trace.outside(700, Tcp(1, dst="10.9.0.99").syn())
    result = gate([], [dns(1)], flows={"udp_idle": "29500ms"}).play(trace)

    # From 1, 31 and so on to 571, within the half second that a sweep may take.
    service = result.services["dns"]
    assert (service["attempts"], service["attempt_packets"]) == (20, 600)
    assert result.tenants["default"]["offered"] == 1
    assert service["outcomes"]["aged"] == 20
    assert service["window"] == {"limit": 1, "used": 0, "peak": 1, "debt": 0}


def test_case_C01_a_lost_reply_and_the_next_query_on_the_port(gate):
    """One slot for both, and the first reply to either ends it."""
    flow, trace = Udp(40001), Trace()
    trace.outside(1, flow.asked(b"a"))
    trace.outside(5, flow.asked(b"b"))
    trace.inside(5.1, flow.replied(b"b"))
    trace.outside(6, flow.asked(b"c"))
    result = gate([], [dns(1)]).play(trace)

    service = result.services["dns"]
    assert (service["attempts"], service["attempt_packets"], service["admitted"]) == (2, 3, 2)
    assert service["outcomes"]["finished"] == 1
    assert service["window"] == {"limit": 1, "used": 1, "peak": 1, "debt": 0}
    assert result.to_inside == trace.sent("outside")


def test_a_datagram_waits_as_a_syn_does(gate):
    busy, second, third, fourth = together(4, Udp)
    trace = Trace()
    for i, flow in enumerate((busy, second, third, fourth, second)):
        trace.outside(1 + i / 100, flow.asked())
    trace.inside(1.06, second.replied(b"unasked"))  # says nothing about the one who waits
    trace.inside(1.07, busy.replied())
    trace.outside(1.2, Tcp(1, dst="10.9.0.99").syn())
    result = gate([], [{**dns(1), "wait": {"places": 2, "age": "100ms"}}]).play(trace)

    service, tenant = result.services["dns"], result.tenants["default"]
    assert (service["attempts"], service["attempt_packets"], service["admitted"]) == (4, 5, 2)
    assert (tenant["waited"], tenant["cancelled"]) == (2, 0)
    assert service["refused"]["capacity"] == 2  # the fourth at once, the third in the end
    assert result.drops() == {"capacity": 2, "duplicate": 1}
    assert result.to_inside[:2] == [busy.asked(), second.asked()]
    assert (service["window"]["used"], result.worker["held"]) == (1, 0)


def test_case_C01_who_waited_in_vain_still_hears_what_was_answered_before(gate):
    flow, busy = together(2, Udp)
    trace = Trace()
    trace.outside(1, flow.asked(b"a"))
    trace.inside(1.01, flow.replied(b"a1"))
    trace.outside(1.02, busy.asked())
    trace.outside(1.03, flow.asked(b"b"))  # waits until 1.13
    trace.inside(1.2, flow.replied(b"a2"))
    trace.inside(1.3, busy.replied())
    trace.outside(1.4, flow.asked(b"c"))
    result = gate([], [{**dns(1), "wait": {"places": 1, "age": "100ms"}}]).play(trace)

    service = result.services["dns"]
    assert result.to_outside == trace.sent("inside")
    assert result.to_inside == [flow.asked(b"a"), busy.asked(), flow.asked(b"c")]
    assert (service["attempts"], service["admitted"]) == (4, 3)
    assert result.refusals("default") == {"capacity": 1}
    assert result.drops() == {"capacity": 1}
    assert result.used("dns") == 1


def test_case_C01_a_reply_after_the_timeout_passes_and_frees_nothing(gate):
    late, running = Udp(40001), Udp(40002)
    trace = Trace()
    trace.outside(1, late.asked())
    trace.outside(40, running.asked())
    trace.inside(40.1, late.replied())
    result = gate([], [dns(5)], flows={"udp_idle": "30s"}).play(trace)

    assert result.to_outside == [late.replied()]
    assert result.used("dns") == 1
    assert result.services["dns"]["outcomes"] == {"finished": 0, "reset": 0, "aborted": 0,
                                                  "aged": 1}
    assert result.services["dns"]["adopted"] == 0


def test_what_the_inside_asks_is_answered_unasked(gate):
    flow = Udp(40001)
    trace = Trace()
    for second in (1, 2):
        trace.inside(second, flow.replied())  # the service asks, from its own port
        trace.outside(second + 0.1, flow.asked())  # and is answered, once for each time
    trace.outside(3, flow.asked())
    blocked = [{"name": "default", "quota": {"attempts": 0}}]
    result = gate(blocked, [dns(5)]).play(trace)

    assert result.passes() == {"inside": 4}
    assert result.services["dns"]["refused"]["rate"] == 1
    assert result.used("dns") == 0


def test_case_C01_the_next_query_on_the_port_is_a_new_attempt(gate):
    flow = Udp(40001)
    trace = Trace()
    for i in range(4):
        trace.outside(1 + i, flow.asked(bytes([i])))
        trace.inside(1.1 + i, flow.replied(bytes([i])))
    result = gate([{"name": "default", "quota": {"attempts": "1/day", "attempts_burst": 2}}],
                  [dns(1)]).play(trace)

    # The fourth has no token: it is not sent, and the reply that came anyhow passes.
    assert result.services["dns"]["admitted"] == 3
    assert result.refusals("default") == {"rate": 1}
    assert result.services["dns"]["outcomes"]["finished"] == 3
    assert result.used("dns") == 0
    assert result.to_inside == [flow.asked(bytes([i])) for i in range(3)]
    assert len(result.to_outside) == 4


def test_every_exchange_ends_in_silence(gate):
    trace = Trace()
    for i in range(20):
        trace.outside(1, Udp(40000 + i).asked())
    trace.outside(3600, Tcp(1, dst="10.9.0.99").syn())
    result = gate([], [dns(10)]).play(trace)

    assert result.services["dns"]["window"] == {"limit": 10, "used": 0, "peak": 10, "debt": 0}
    assert result.services["dns"]["refused"]["capacity"] == 10
    assert result.worker["aged_slots"] == 10
    assert result.worker["flows"]["used"] == 0
