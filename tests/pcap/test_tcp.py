# SPDX-License-Identifier: BSD-3-Clause
"""When a TCP connection takes a slot, and when it gives it back."""

from frames import SERVICE, Tcp
from gate import Trace

LATER = 3600  # longer than any timeout

ECN_SYN = "SEC"
ECN_SYN_ACK = "SAE"


def web(name, window, address=SERVICE, **more):
    return {"name": name, "addresses": [address], "protocol": "tcp", "ports": ["80"],
            "window": window, **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


def outcomes(result, service="web"):
    return {name: n for name, n in result.services[service]["outcomes"].items() if n}


def test_case_B01_a_repeated_syn_of_an_open_flow_takes_nothing(gate):
    flow = Tcp(40001)
    trace = Trace()
    flow.open_at(trace, 1)
    trace.outside(1.5, flow.syn())
    result = gate([acme()], [web("web", 5)]).play(trace)

    assert result.services["web"]["attempts"] == 1
    assert result.services["web"]["attempt_packets"] == 2
    assert result.used("web") == 1


def test_case_B07_ecn_bits_do_not_hide_a_syn(gate):
    classic, with_ns, third = Tcp(40001), Tcp(40002), Tcp(40003)
    ns_syn = bytearray(with_ns.sent(ECN_SYN))
    ns_syn[14 + 20 + 12] |= 0x01
    trace = Trace()
    trace.outside(1, classic.sent(ECN_SYN))
    trace.outside(1.1, bytes(ns_syn))
    trace.inside(1.2, classic.replied(ECN_SYN_ACK))
    trace.outside(1.3, classic.sent("A"))
    trace.outside(1.4, third.sent(ECN_SYN))
    # Only who was answered outlives a handshake's time: the SYN-ACK was seen as one.
    trace.outside(10, Tcp(40004, dst="10.9.0.99").syn())
    result = gate([acme()], [web("web", 2)]).play(trace)

    assert result.worker["dropped"]["malformed:tcp_flags"] == 0
    assert result.services["web"]["admitted"] == 2
    assert result.services["web"]["refused"]["capacity"] == 1
    assert len(result.answers) == 1
    assert result.used("web") == 1
    assert outcomes(result) == {"aged": 1}


def test_case_B07_impossible_flags_open_nothing(gate):
    impossible = ["", "SF", "FSRPAU", "FPU", "SR", "SFR", "F", "RF", "SAF", "SARFPUECN"]
    trace = Trace()
    for i, flags in enumerate(impossible):
        trace.outside(1 + i / 1000, Tcp(40000 + i).sent(flags))
    result = gate([acme(quota={"attempts": "1/day", "attempts_burst": 9})],
                  [web("web", 5)]).play(trace)

    assert result.drops() == {"malformed:tcp_flags": len(impossible)}
    assert result.services["web"]["attempts"] == 0
    assert result.tokens("acme") == 10
    assert result.used("web") == 0


def boundary(trace, limit, address):
    """limit + 1 connections open, the last is refused; one closes, one more opens."""
    flows = [Tcp(40000 + i, dst=address) for i in range(limit + 2)]
    for i, flow in enumerate(flows[:limit]):
        flow.open_at(trace, 1 + i / 10)
    trace.outside(2, flows[limit].syn())
    flows[0].close_at(trace, 3)
    flows[limit + 1].open_at(trace, 3.5)
    return flows


def test_case_B09_exactly_the_window_is_admitted(gate):
    limits = (1, 2, 6)
    address = {limit: f"10.9.0.{limit}" for limit in limits}
    services = [web(f"w{limit}", limit, address[limit]) for limit in limits]
    trace = Trace()
    flows = {limit: boundary(trace, limit, address[limit]) for limit in limits}
    result = gate([acme()], services).play(trace.sorted())

    for limit in limits:
        service = result.services[f"w{limit}"]
        assert service["admitted"] == limit + 1
        assert service["refused"]["capacity"] == 1
        assert service["window"] == {"limit": limit, "used": limit, "peak": limit, "debt": 0}
        assert outcomes(result, f"w{limit}") == {"finished": 1}
        assert flows[limit][limit].syn() not in result.to_inside
        assert flows[limit][limit + 1].syn() in result.to_inside
    assert len(result.answers) == len(limits)


def test_case_B09_a_tenants_window_has_the_same_boundary(gate):
    tenants = [{"name": f"t{limit}", "prefixes": [f"10.{limit}.0.0/16"], "window": limit}
               for limit in (1, 2, 6)]
    trace = Trace()
    for limit in (1, 2, 6):
        flows = [Tcp(40000 + i, src=f"10.{limit}.0.1") for i in range(limit + 2)]
        for i, flow in enumerate(flows[:limit + 1]):
            trace.outside(1 + i / 1000, flow.syn())
        trace.inside(2, flows[0].replied("RA"))
        trace.outside(2.5, flows[limit + 1].syn())
    result = gate(tenants, [web("web", 100)]).play(trace.sorted())

    for limit in (1, 2, 6):
        tenant = result.tenants[f"t{limit}"]
        assert tenant["admitted"] == limit + 1
        assert result.refusals(f"t{limit}") == {"share": 1}
        assert tenant["window"] == {"limit": limit, "used": limit, "peak": limit, "debt": 0}


def test_case_B09_a_refused_client_holds_and_frees_nothing(gate):
    held, refused, third = Tcp(40001), Tcp(40002), Tcp(40003)
    trace = Trace()
    held.open_at(trace, 1)
    trace.outside(2, refused.syn())
    for at, flags in ((2.1, "RA"), (2.2, "FA"), (2.3, "R")):
        trace.outside(at, refused.sent(flags))
    trace.outside(3, third.syn())
    result = gate([acme()], [web("web", 1)]).play(trace)

    assert result.services["web"]["admitted"] == 1
    assert result.services["web"]["refused"]["capacity"] == 2
    assert result.used("web") == 1
    assert result.passes() == {"attempt": 1, "flow": 2, "midflow": 3}


def test_case_B09_a_slot_is_freed_once(gate):
    twice_fin, fin_rst, rst_fin, stays = (Tcp(40000 + i) for i in range(4))
    trace = Trace()
    for flow in (twice_fin, fin_rst, rst_fin, stays):
        flow.open_at(trace, 1 + flow.sport / 1e6)
    for at in (2, 2.1):  # both FINs, repeated
        trace.outside(at, twice_fin.sent("FA"))
        trace.inside(at + 0.01, twice_fin.replied("FA"))
    fin_rst.close_at(trace, 2.2)
    trace.inside(2.3, fin_rst.replied("RA"))
    trace.outside(2.3, fin_rst.sent("RA"))
    trace.inside(2.4, rst_fin.replied("RA"))
    trace.inside(2.5, rst_fin.replied("RA"))
    trace.outside(2.5, rst_fin.sent("FA"))
    trace.outside(2.6, stays.sent("PA", b"still here"))
    result = gate([acme()], [web("web", 4)]).play(trace.sorted())

    assert result.used("web") == 1
    assert result.tenants["acme"]["window"]["used"] == 1
    assert outcomes(result) == {"finished": 2, "reset": 1}
    assert result.worker["flows"]["used"] == 4  # the closed ones wait for stragglers


def test_a_clients_reset_frees_the_slot_when_the_service_confirms_or_linger_passes(gate):
    confirmed, unconfirmed, probe = Tcp(40001), Tcp(40002), Tcp(40003)
    trace = Trace()
    confirmed.open_at(trace, 1)
    unconfirmed.open_at(trace, 1.1)
    trace.outside(2, confirmed.sent("RA"))
    trace.outside(2, unconfirmed.sent("RA"))
    trace.outside(2.1, probe.syn())  # refused: the work may still run
    trace.inside(2.2, confirmed.replied("RA"))
    trace.outside(2.3, Tcp(40004).syn())  # in the place of the confirmed one
    trace.outside(2.4, Tcp(40005).syn())
    result = gate([acme()], [web("web", 2)], flows={"linger": "1s"}).play(trace)

    assert result.services["web"]["admitted"] == 3
    assert result.services["web"]["refused"]["capacity"] == 2
    assert outcomes(result) == {"reset": 1}

    trace.outside(3.3, Tcp(40006).syn())  # a second after the reset, and a sweep
    result = gate([acme()], [web("web", 2)], flows={"linger": "1s"}).play(trace)
    assert result.services["web"]["admitted"] == 4
    assert outcomes(result) == {"reset": 1, "aborted": 1}


def test_a_syn_on_the_ports_of_an_ended_flow_is_a_new_attempt(gate):
    closed, reset = Tcp(40001), Tcp(40002)
    trace = Trace()
    for flow in (closed, reset):
        flow.open_at(trace, 1 + flow.sport / 1e6)
    closed.close_at(trace, 2)
    trace.outside(2, reset.sent("RA"))  # lingers, with its slot
    trace.outside(2.5, Tcp(40001, isn=9000).syn())
    trace.outside(2.5, Tcp(40002, isn=9000).syn())  # what was reset may still be worked on
    trace.outside(3.5, Tcp(40002, isn=9000).syn())
    result = gate([acme()], [web("web", 3)]).play(trace.sorted())

    assert result.services["web"]["admitted"] == 4
    assert result.services["web"]["refused"]["share"] == 1
    assert result.services["web"]["window"] == {"limit": 3, "used": 2, "peak": 2, "debt": 0}
    assert outcomes(result) == {"finished": 1, "aborted": 1}
    assert result.worker["flows"]["used"] == 2


def test_every_slot_comes_back_after_silence(gate):
    trace = Trace()
    opening, answered, established, half_closed, reset, closed = (
        Tcp(40000 + i) for i in range(6))
    trace.outside(1, opening.syn())
    trace.outside(1, answered.syn())
    trace.inside(1.1, answered.replied("SA"))
    for flow in (established, half_closed, reset, closed):
        flow.open_at(trace, 1.2)
    trace.outside(2, half_closed.sent("FA"))
    trace.outside(2, reset.sent("RA"))
    closed.close_at(trace, 2)
    trace.outside(LATER, Tcp(1, dst="10.9.0.99").syn())
    result = gate([acme()], [web("web", 10)]).play(trace.sorted())

    assert result.services["web"]["window"] == {"limit": 10, "used": 0, "peak": 6, "debt": 0}
    assert outcomes(result) == {"finished": 1, "aborted": 1, "aged": 4}
    assert result.worker["aged_slots"] == 4
    assert result.worker["flows"]["used"] == 0
