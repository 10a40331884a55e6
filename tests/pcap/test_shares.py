# SPDX-License-Identifier: BSD-3-Clause
"""What one tenant may hold, and what is kept for others: erlangs, shares, reserves, probes."""

from frames import SERVICE, Tcp
from gate import Trace


def web(window, **more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "window": window, **more}


def tenant(name, network, **more):
    return {"name": name, "prefixes": [f"10.{network}.0.0/16"], **more}


class Clients:
    """Of one network, each with an address of its own, so that none is another's retry."""

    def __init__(self, trace, network):
        self.trace, self.network, self.n = trace, network, 0

    def next(self):
        self.n += 1
        return Tcp(40000 + self.n, src=f"10.{self.network}.1.{self.n}")

    def open(self, at, n=1):
        """n connections, a millisecond apart."""
        flows = [self.next() for _ in range(n)]
        for i, flow in enumerate(flows):
            self.trace.outside(at + i / 1000, flow.syn())
        return flows


def entered(result, flows):
    return [flow.syn() in result.to_inside for flow in flows]


def test_erlangs_hold_a_tenant_to_its_share_of_slot_time(gate):
    """
    One slot on average, ten slot-seconds to begin with. Five connections of three seconds cost
    fifteen: nothing new is let in until the five that are owed have been earned.
    """
    trace = Trace()
    clients, others = Clients(trace, 1), Clients(trace, 2)
    heavy = clients.open(1, 5)
    running = clients.open(3.9)  # nothing is owed yet
    for i, flow in enumerate(heavy):
        trace.inside(4 + i / 1000, flow.replied("RA"))
    trace.inside(4.5, running[0].replied("RA"))  # 0.6 more
    early = clients.open(9.57)
    other = others.open(9.58)
    late = clients.open(9.63)
    result = gate([tenant("acme", 1, quota={"erlangs": 1.0}), tenant("globex", 2)],
                  [web(16)]).play(trace)

    # 10 - 15 at 4.0, so -5; - 0.6, + 5.6 at 9.6.
    assert entered(result, heavy + running + early + other + late) == [True] * 6 + [
        False, True, True]
    assert result.refusals("acme") == {"erlangs": 1}


def test_guaranteed_slots_are_kept_and_ceilings_hold(gate):
    trace = Trace()
    acme, globex, rest = (Clients(trace, network) for network in (1, 2, 3))
    first = rest.open(1, 5)  # of 6 slots two are acme's and one is globex's
    mine = acme.open(1.1, 4)  # two of its own; what is left over is globex's
    theirs = globex.open(1.2, 3)
    trace.inside(2, first[0].replied("RA"))
    trace.inside(2.001, first[1].replied("RA"))
    more = globex.open(2.1, 3)  # one more, up to its ceiling
    last = acme.open(2.2, 2)
    shares = [{"tenant": "acme", "guaranteed": 2},
              {"tenant": "globex", "guaranteed": 1, "ceiling": 2}]
    result = gate([tenant("acme", 1), tenant("globex", 2), tenant("rest", 3)],
                  [web(6, shares=shares)]).play(trace)

    assert entered(result, first) == [True] * 3 + [False] * 2
    assert entered(result, mine) == [True, True, False, False]
    assert entered(result, theirs) == [True, False, False]
    assert entered(result, more) == [True, False, False]
    assert entered(result, last) == [True, False]
    assert result.refusals("rest") == {"capacity": 2}
    assert result.refusals("acme") == {"capacity": 3}
    assert result.refusals("globex") == {"capacity": 2, "share": 2}
    assert result.services["web"]["window"] == {"limit": 6, "used": 6, "peak": 6, "debt": 0}


def test_slots_are_kept_for_higher_classes(gate):
    trace = Trace()
    bulk, normal, critical = (Clients(trace, network) for network in (1, 2, 3))
    flows = bulk.open(1, 4) + normal.open(1.1, 2) + critical.open(1.2, 3)
    reserve = {"normal": {"slots": 1}, "critical": {"slots": 2}}
    result = gate([tenant("bulk", 1, **{"class": "bulk"}),
                   tenant("normal", 2, **{"class": "normal"}),
                   tenant("critical", 3, **{"class": "critical"})],
                  [web(6, reserve=reserve)]).play(trace)

    assert entered(result, flows) == [True] * 3 + [False, True, False, True, True, False]
    for name in ("bulk", "normal", "critical"):
        assert result.refusals(name) == {"capacity": 1}


def test_only_a_quarter_of_a_window_may_be_unconfirmed(gate):
    """Spoofed SYNs do not fill it, and who shakes hands is none of them."""
    trace = Trace()
    clients = Clients(trace, 1)
    for i in range(10):
        clients.next().open_at(trace, 1 + i / 100)
    spoofed = clients.open(1.2, 18)
    trace.inside(1.3, spoofed[0].replied("SA"))
    before = clients.open(1.31)
    trace.outside(1.32, spoofed[0].sent("A"))
    after = clients.open(1.33)
    result = gate([tenant("acme", 1)], [web(64)]).play(trace)

    assert entered(result, spoofed) == [True] * 16 + [False] * 2
    assert entered(result, before + after) == [False, True]
    assert result.refusals("acme") == {"connections": 3}
    assert result.used("web") == 10 + 17


def test_health_checks_pass_when_everything_is_full(gate):
    """The service's window, its places and the tenant's window; one at a time."""
    trace = Trace()
    acme, globex, checks = Clients(trace, 1), Clients(trace, 2), Clients(trace, 0)
    flows = acme.open(1) + globex.open(1.01, 3) + acme.open(1.02)
    check, = checks.open(1.03)
    trace.inside(1.031, check.replied("SA"))
    trace.outside(1.032, check.sent("A"))
    at_once = checks.open(1.04)
    check.close_at(trace, 1.05)
    again = checks.open(1.06)
    probes = {"prefixes": ["10.0.0.0/16"], "attempts": "10/s"}
    service = web(2, probes=probes, wait={"places": 1, "age": "100ms"})
    mine = {"name": "acme", "prefixes": ["10.1.0.0/16", "10.0.0.0/16"], "window": 1,
            "quota": {"attempts": "1/day", "attempts_burst": 1}}
    result = gate([mine, tenant("globex", 2)], [service]).play(trace)

    # Two slots for everybody, one beside them for checks; the second of globex's waits, the third does not.
    assert entered(result, flows) == [True, True, False, False, False]
    assert result.refusals("globex") == {"capacity": 1}
    assert result.tenants["globex"]["waited"] == result.worker["held"] == 1
    assert entered(result, [check] + at_once + again) == [True, False, True]
    assert result.refusals("acme") == {"share": 2}
    assert result.tokens("acme") == 1
    assert result.tenants["acme"]["offered"] == 2  # checks are nobody's demand
    assert result.services["web"]["window"] == {"limit": 2, "used": 2, "peak": 2, "debt": 0}


def test_health_checks_have_a_rate_of_their_own(gate):
    """Beyond it they are attempts like any other."""
    trace = Trace()
    checks = Clients(trace, 0)
    for i in range(4):
        flow, = checks.open(1 + i / 100)
        trace.inside(1.001 + i / 100, flow.replied("RA"))
    probes = {"prefixes": ["10.0.0.0/16"], "attempts": "1/day"}
    result = gate([tenant("acme", 0, quota={"attempts": 0})],
                  [web(3, probes=probes)]).play(trace)

    assert result.tenants["acme"]["admitted"] == 2  # a burst of one, and one
    assert result.refusals("acme") == {"rate": 2}
