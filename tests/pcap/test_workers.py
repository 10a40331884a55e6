# SPDX-License-Identifier: BSD-3-Clause
"""What must not depend on the number of workers: whose flow it is, what a limit is worth."""

import pytest

from frames import SERVICE, Tcp, Udp, folded, readdressed, stray
from gate import WORKERS, Gate, Trace


def web(**more):
    return {"name": "web", "addresses": [SERVICE], "protocol": "tcp", "ports": ["80"],
            "refuse": "drop", **more}


def acme(**more):
    return {"name": "acme", "prefixes": ["10.1.0.0/16"], **more}


class Client:
    """A client as far as its handshake, and 1000 bytes of data by IP length."""

    patterns = (Tcp(1).syn(), Tcp(1).sent("A"), stray(1, 1000))

    def __init__(self, src, sport):
        self.src, self.sport = src, sport
        self.syn, self.ack, self.data = (readdressed(frame, src, sport)
                                         for frame in self.patterns)

    def replied(self, flags):
        """By the service."""
        return Tcp(self.sport, src=self.src).replied(flags)

    def open_at(self, trace, at):
        """The handshake within a millisecond."""
        trace.outside(at, self.syn)
        trace.inside(at + 0.0003, self.replied("SA"))
        trace.outside(at + 0.0006, self.ack)


def evenly(n):
    """Clients whose flows are spread over the workers."""
    return [Client(f"10.1.{i % 200}.{i % 250 + 1}", 1024 + i) for i in range(n)]


def on_one_worker(n):
    """Clients whose flows all belong to one worker, whichever it is."""
    wanted = folded("10.1.0.1", 40000)
    addresses = [f"10.1.{i // 250}.{i % 250 + 1}" for i in range(n)]
    return [Client(address, wanted ^ folded(address, 0)) for address in addresses]


def of_every_owner():
    """
    Ports, as many as it takes for every worker to own flows of one client with some of them.

    The owner is the hash modulo 4 of a word, and that hash is linear: a bit of the word adds two
    neighbouring bits of the key (16 bits, round about, not all alike). So the single bits add 01
    somewhere and 10 somewhere, and either one adds 11 or two neighbours together do.
    """
    words = [0] + [1 << bit for bit in range(16)] + [1 << bit | 1 << (bit + 1) % 16
                                                     for bit in range(16)]
    return [40000 ^ word for word in words]


SPREADS = pytest.mark.parametrize("clients", [evenly, on_one_worker])


def owners_at_work(result):
    """How many workers had flows to decide about."""
    return sum(worker["flows"]["used"] + sum(worker["dropped"].values()) > 0
               for worker in result.workers)


def check_spread(result, clients):
    assert owners_at_work(result) == (1 if clients is on_one_worker else len(result.workers))


def test_case_D01_the_reply_lands_on_another_worker(gate):
    trace = Trace()
    ports = of_every_owner()
    n = len(ports)
    flows = [Tcp(port) for port in ports]
    questions = [Udp(port, src="10.1.7.1") for port in ports]
    for i, (flow, question) in enumerate(zip(flows, questions)):
        flow.open_at(trace, 1 + i / 100)
        trace.outside(1 + i / 100, question.asked())
        flow.close_at(trace, 2 + i / 100)
        trace.inside(2 + i / 100, question.replied())
    dns = {"name": "dns", "addresses": [SERVICE], "protocol": "udp", "ports": ["53"],
           "window": 64}
    result = gate([acme()], [web(window=64), dns]).play(trace.sorted())

    for name in ("web", "dns"):
        service = result.services[name]
        assert service["admitted"] == n
        assert service["window"] == {"limit": 64, "used": 0, "peak": n, "debt": 0}
        assert service["outcomes"] == {"finished": n, "reset": 0, "aborted": 0, "aged": 0}
    assert "symmetrically" not in result.stderr  # one queue: nothing to spread
    # Each worker owns some; all but the first gets them, and sends them, through another.
    assert owners_at_work(result) == WORKERS
    assert (result.worker["handed_in"] > 0) == (WORKERS > 1)
    assert result.to_inside == trace.sent("outside")
    assert result.to_outside == trace.sent("inside")


@SPREADS
def test_case_D02_a_rate_is_the_same_on_any_number_of_workers(gate, clients):
    trace = Trace()
    flows = clients(6000)
    for i, flow in enumerate(flows):  # two seconds at three times the rate
        trace.outside(1 + i / 3000, flow.syn)
    result = gate([acme(quota={"attempts": "1000/s", "attempts_burst": 100})],
                  [web()], flows={"max": 16384}).play(trace)

    # A burst of 100 and one, and 1000 a second, the last of them a third of a ms before the end.
    assert result.tenants["acme"]["admitted"] == 101 + 1999
    assert result.refusals("acme") == {"rate": 6000 - 2100}
    check_spread(result, clients)


@SPREADS
@pytest.mark.parametrize("limit", [100, 2])
def test_case_D02_a_window_is_the_same_on_any_number_of_workers(gate, clients, limit):
    trace = Trace()
    flows = clients(300)
    admitted = limit + limit // 2
    for i, flow in enumerate(flows[:limit]):
        flow.open_at(trace, 1 + i / 1000)
    for i, flow in enumerate(flows[limit:]):
        trace.outside(1.1 + i / 1000, flow.syn)
    for flow in flows[:limit // 2]:  # half of those who got in make room
        trace.inside(2, flow.replied("RA"))
    # When nobody is told the answer of before again, nor asks for the same work in vain.
    for i, flow in enumerate(flows[limit:admitted]):
        flow.open_at(trace, 12 + i / 1000)
    for i, flow in enumerate(flows[admitted:]):
        trace.outside(12.1 + i / 1000, flow.syn)
    result = gate([acme()], [web(window=limit)]).play(trace)

    assert result.services["web"]["admitted"] == admitted
    assert result.services["web"]["refused"]["capacity"] == 600 - limit - admitted
    assert result.services["web"]["window"] == {"limit": limit, "used": limit, "peak": limit,
                                                "debt": 0}
    assert result.to_inside == [frame for flow in flows[:admitted]
                                for frame in (flow.syn, flow.ack)]
    check_spread(result, clients)


@SPREADS
def test_case_D02_bits_are_the_same_on_any_number_of_workers(gate, clients):
    trace = Trace()
    flows = clients(400)
    for i in range(4000):  # two seconds of 1000 bytes, 2000 times a second
        trace.outside(1 + i / 2000, flows[i % len(flows)].data)
    result = gate([acme(quota={"bits": "8Mbit/s", "bits_burst": "200KiB"})], [web()]).play(trace)

    passed = result.tenants["acme"]["bytes"]["in"]
    most = 204800 + 1999500
    assert most * 0.98 <= passed <= most + 1000
    assert result.tenants["acme"]["dropped"]["bits"] == 4000 - passed // 1000


def test_case_G01_a_full_flow_table(gate):
    trace = Trace()
    old = [Tcp(1024 + i, src=f"10.2.0.{i + 1}") for i in range(10)]
    new = [Client(f"10.1.{i % 250}.{i // 250 + 1}", 1024 + i) for i in range(10000)]
    late = [Client(f"10.1.{i % 250}.1", 20000 + i) for i in range(500)]
    for flow in old:
        flow.open_at(trace, 1)
    for i, flow in enumerate(new):
        trace.outside(2 + i / 10000, flow.syn)
    for flow in old:  # as if nothing had happened
        trace.outside(3.5, flow.sent("PA", b"request"))
        trace.inside(3.5, flow.replied("PA", b"reply"))
        flow.close_at(trace, 3.6)
    for flow in late:  # when the handshakes that came to nothing have been given up
        trace.outside(10, flow.syn)
    result = gate([acme()], [web(refuse="rst")], flows={"max": 1024}).play(trace.sorted())

    admitted = result.services["web"]["admitted"]
    room = result.worker["flows"]["max"]
    assert room == 1024 if WORKERS == 1 else 1024 * 9 / 8 <= room < 1024 * 9 / 8 + WORKERS
    assert result.refusals("acme") == {"table": 10510 - admitted}
    # The table was full, but for keys whose places were all taken, and took as many again.
    assert room * 0.95 + 500 <= admitted <= room + 500
    assert {flow.syn for flow in late} <= set(result.to_inside)
    # Refused at once, and so that the client can tell, as far as answers have a rate.
    assert result.drops().get("table", 0) + result.worker["answered"] == 10510 - admitted
    assert result.tenants["default"]["refused"]["table"] == 0
    assert result.services["web"]["outcomes"]["finished"] == len(old)
    for flow in old:
        assert result.to_inside.count(flow.sent("PA", b"request")) == 1
        assert result.to_outside.count(flow.replied("PA", b"reply")) == 1
    assert result.worker["flows"]["used"] == result.worker["slots"] == len(late)


def test_a_memif_has_one_queue(tmp_path, monkeypatch):
    """However many workers there are: packets on a queue that its peer lacks would be lost."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))  # with memif, EAL leaves files there
    gate = Gate(tmp_path, [], [web()])
    gate.settings["eal"]["clock"] = "tsc"
    for i, side in enumerate(("outside", "inside")):
        gate.settings["gates"][0][side] = [
            f"net_memif{i},role=server,id={i},socket={gate.path('memif')},socket-abstract=no"]
    try:
        gate.start()
        gate.wait_for(0)
        ports = gate.ctl("ports")["ports"]
        assert gate.end() == 0
    finally:
        gate.kill()
    assert [[queue["queue"] for queue in port["queues"]] for port in ports] == [[0], [0]]
