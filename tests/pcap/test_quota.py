# SPDX-License-Identifier: BSD-3-Clause
"""Token buckets at the gate: attempts, packets and bits, in the time of the packets."""

import pytest

from frames import SERVICE, Tcp, stray
from gate import US_PER_S, WORKERS, Trace

DAY = 86400
YEAR = 365 * DAY


def web(**more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "refuse": "drop", **more}


def tenant(name, network, quota, **more):
    return {"name": name, "prefixes": [f"10.{network}.0.0/16"], "quota": quota, **more}


class Attempts:
    """Clients of one network, each attempt from a port of its own."""

    def __init__(self, trace, network=1):
        self.trace, self.src = trace, f"10.{network}.0.1"
        self.flows = []

    def offer(self, at, n=1):
        """n attempts at one time; returns them, to be found again with admitted()."""
        flows = [Tcp(1024 + len(self.flows) + i, src=self.src) for i in range(n)]
        self.flows += flows
        for flow in flows:
            self.trace.outside(at, flow.syn())
        return flows


def admitted(result, flows):
    out = set(result.to_inside)
    return sum(flow.syn() in out for flow in flows)


def test_limit_req_trace_of_5_per_second_with_burst_10(gate):
    trace = Trace()
    clients = Attempts(trace)
    twelve = clients.offer(1, 12)
    thirty = clients.offer(3.2, 30)
    start = 5.4
    seconds = [[], [], [], []]
    for i in range(80):
        seconds[i // 20] += clients.offer(start + i / 20)
    result = gate([tenant("acme", 1, {"attempts": "5/s", "attempts_burst": 10})],
                  [web()]).play(trace)

    assert admitted(result, twelve) == 11
    assert admitted(result, thirty) == 11
    assert [admitted(result, flows) for flows in seconds] == [15, 5, 5, 5]
    assert result.refusals("acme") == {"rate": 1 + 19 + 50}


def test_case_E01_low_rates_do_not_starve(gate):
    trace = Trace()
    for i in range(1000):
        for network in (1, 2):
            trace.outside(1 + i / 10, Tcp(1024 + i, src=f"10.{network}.0.1").syn())
    result = gate([tenant("second", 1, {"attempts": "1/s", "attempts_burst": 1}),
                   tenant("ten", 2, {"attempts": "6/min", "attempts_burst": 1})],
                  [web()]).play(trace)

    # One token and a burst of one at first, then one each (ten) seconds up to 99.9 s.
    assert result.tenants["second"]["admitted"] == 2 + 99
    assert result.tenants["ten"]["admitted"] == 2 + 9
    assert result.refusals("second") == {"rate": 1000 - 101}


# The first is when the product of time and the fastest rate is a multiple of 2^64.
@pytest.mark.parametrize("idle_s, tokens", [(2**32 / US_PER_S, 0), (12 * 3600, 0), (6 * DAY, 6),
                                            (YEAR, 10)])
def test_case_E04_idling_earns_one_burst(gate, idle_s, tokens):
    trace = Trace()
    slow, steady, fast = (Attempts(trace, network) for network in (1, 2, 3))
    parts = {}
    for at in (0, idle_s):  # a clock that starts at 0, too
        parts[at] = [clients.offer(at, 20) for clients in (slow, steady, fast)]
        for i in range(128):
            trace.outside(at, stray(1024 + i, 1024, src="10.4.0.1"))
    quotas = [{"attempts": rate, "attempts_burst": 9} for rate in ("1/day", "1/s", f"{2**29}/s")]
    tenants = [tenant(f"t{i + 1}", i + 1, quota) for i, quota in enumerate(quotas)]
    # Too small a burst for several workers to lease from: they would miss up to an eighth of it.
    tenants.append(tenant("bits", 4, {"bits": "100Gbit/s", "bits_burst": "32KiB"}))
    result = gate(tenants, [web()]).play(trace)

    assert [admitted(result, flows) for flows in parts[0]] == [10, 10, 10]
    assert [admitted(result, flows) for flows in parts[idle_s]] == [tokens, 10, 10]
    assert result.tenants["bits"]["packets"]["in"] == 2 * 32
    assert result.tenants["bits"]["dropped"]["bits"] == 2 * 96


def test_case_E05_a_clock_that_steps_back_earns_nothing(gate):
    trace = Trace()
    clients = Attempts(trace)
    held = Tcp(1, src="10.9.9.9")
    held.open_at(trace, 0.9)
    at = [1.000000, 0.999950, 0.999950, 1.000950, 1.000999, 1.001000]
    steps = [clients.offer(t) for t in at]
    result = gate([tenant("acme", 1, {"attempts": "1000/s", "attempts_burst": 1})],
                  [web()]).play(trace)

    # Two at first. Had the bucket gone back to 0.999950, it would have a token at 1.000950.
    assert [admitted(result, flows) for flows in steps] == [1, 1, 0, 0, 0, 1]
    assert result.tenants["default"]["window"]["used"] == 1  # nothing aged by it
    assert result.worker["aged_slots"] == 0


def test_case_E07_a_full_window_costs_no_token_and_the_reverse(gate):
    trace = Trace()
    share, rate, capacity = (Attempts(trace, network) for network in (1, 2, 3))
    share.offer(1, 5)
    rate.offer(1, 5)
    tenants = [
        tenant("share", 1, {"attempts": "1/day", "attempts_burst": 9}, window=2),
        tenant("rate", 2, {"attempts": "1/day", "attempts_burst": 1}, window=5),
        tenant("capacity", 3, {"attempts": "1/day", "attempts_burst": 9}, window=5),
    ]
    for flow in range(3):
        trace.outside(2, Tcp(2000 + flow, 443, src="10.3.0.1").syn())
    small = web(name="small", ports=["443"], window=1)
    result = gate(tenants, [web(), small]).play(trace)

    assert result.refusals("share") == {"share": 3}
    assert result.tokens("share") == 8
    assert result.refusals("rate") == {"rate": 3}
    assert (result.tokens("rate"), result.tenants["rate"]["window"]["used"]) == (0, 2)
    assert result.refusals("capacity") == {"capacity": 2}
    assert result.tokens("capacity") == 9
    assert result.tenants["capacity"]["window"] == {"limit": 5, "used": 1, "peak": 1, "debt": 0}
    assert result.services["small"]["window"]["used"] == 1


def test_case_E07_packets_and_bits_are_debited_together_or_not_at_all(gate):
    trace = Trace()
    few_bits = {"packets": "1/day", "packets_burst": 99, "bits": "8kbit/s", "bits_burst": "1500B"}
    few_packets = {"packets": "1/s", "packets_burst": 1, "bits": "8bit/s", "bits_burst": "4500B"}
    for src, size in (("10.1.0.1", 1500), ("10.2.0.1", 1500)):
        for i in range(32):
            trace.outside(1, stray(1024 + i, size, src=src))
    for i in range(110):  # 40 bytes as soon as they are earned
        trace.outside(10 + 0.04 * i, stray(2000 + i, 40))
    trace.outside(11, stray(2000, 1500, src="10.2.0.1"))
    result = gate([tenant("bits", 1, few_bits), tenant("packets", 2, few_packets)],
                  [web()]).play(trace.sorted())

    assert result.tenants["bits"]["dropped"] == {"bits": 31, "packets": 11}
    assert result.tenants["bits"]["packets"]["in"] == 100
    # Two packets and 3000 of 4500 bytes at first, so the third has bytes enough when it may pass.
    assert result.tenants["packets"]["dropped"] == {"bits": 0, "packets": 30}
    assert result.tenants["packets"]["packets"]["in"] == 3
    assert result.drops() == {"bits": 31, "packets": 41}


def test_case_E07_a_packet_that_just_fits_passes(gate):
    trace = Trace()
    sizes = (1499, 1500, 1501)
    for network, size in enumerate(sizes, 1):
        trace.outside(1, stray(1024, size, src=f"10.{network}.0.1"))
        trace.outside(1, stray(1025, 40, src=f"10.{network}.0.1"))
    result = gate([tenant(f"t{size}", network, {"bits": "8bit/s", "bits_burst": "1500B"})
                   for network, size in enumerate(sizes, 1)], [web()]).play(trace)

    passed = {size: result.tenants[f"t{size}"]["bytes"]["in"] for size in sizes}
    assert passed == {1499: 1499, 1500: 1500, 1501: 40}
    assert result.drops() == {"bits": 3}
    assert result.stderr.count("bits_burst") == 0  # a full packet fits: no warning


def test_packets_and_bits_of_known_flows(gate):
    trace = Trace()
    flows = {"packets": Tcp(1024, src="10.1.0.1"), "bits": Tcp(1024, src="10.2.0.1")}
    for flow in flows.values():
        flow.open_at(trace, 1)
        for i in range(10):
            trace.outside(2, flow.sent("PA", bytes(160)))
            trace.inside(2, flow.replied("PA", bytes(1000)))
    tenants = [tenant("packets", 1, {"packets": "1/day", "packets_burst": 4}),
               tenant("bits", 2, {"bits": "8bit/s", "bits_burst": "500B"})]
    result = gate(tenants, [web()]).play(trace.sorted())

    # SYN and ACK are packets of 40 bytes as well; replies are free.
    assert result.tenants["packets"]["packets"] == {"in": 5, "out": 11}
    assert result.tenants["packets"]["dropped"] == {"packets": 7, "bits": 0}
    assert result.tenants["bits"]["packets"] == {"in": 4, "out": 11}
    assert result.tenants["bits"]["bytes"]["in"] == 2 * 40 + 2 * 200
    assert result.tenants["bits"]["dropped"] == {"packets": 0, "bits": 8}
    assert result.drops() == {"packets": 7, "bits": 8}
    assert result.used("web") == 2


def test_a_quota_set_live_refills_nothing(gate):
    acme = tenant("acme", 1, {"attempts": "1/day", "attempts_burst": 9}, window=100)
    door = gate([acme], [web()])
    offered = {}

    def offer(name, at, n):
        def part(trace):
            first = 1024 + 100 * len(offered)
            offered[name] = [Tcp(first + i, src="10.1.0.1") for i in range(n)]
            for flow in offered[name]:
                trace.outside(at, flow.syn())
        return part

    def set_then(assignments, part):
        def change(trace):
            answer = door.ctl("set", "tenant", "acme", *assignments)
            assert answer["tenant"] == "acme"
            part(trace)
        return change

    result = door.play_in_parts([
        offer("at first", 1, 6),
        # Four tokens are left, whatever the new rate and burst.
        set_then(["quota.attempts=1/h", "quota.attempts_burst=50"], offer("wider", 1.1, 10)),
        set_then(["quota.attempts=0"], offer("blocked", 1.2, 3)),
        set_then(["quota.attempts=2/s"], offer("back", 1.3, 3)),
        offer("earned", 2.3, 4),
        set_then(["window=11", "quota.attempts=unlimited"], offer("window", 2.4, 3)),
    ])

    assert {name: admitted(result, flows) for name, flows in offered.items()} == {
        "at first": 6, "wider": 4, "blocked": 0, "back": 0, "earned": 2, "window": 0}
    assert result.refusals("acme") == {"rate": 6 + 3 + 3 + 2, "share": 3}
    assert result.tenants["acme"]["window"] == {"limit": 11, "used": 12, "peak": 12, "debt": 1}
    assert result.status["policy"] == {"epoch": 4, "workers": [4] * WORKERS}
