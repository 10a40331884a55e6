# SPDX-License-Identifier: BSD-3-Clause
"""What the program in the kernel drops and passes, while the workers are there and without them."""

import signal
import socket
import time

import wire
from lab import until
from test_life import get


def connects(lab, source):
    """Does the service answer the client? Silence counts as no."""
    try:
        with wire.connect(lab, source, 80, timeout=1.5) as client:
            return get(client) == 200
    except TimeoutError:
        return False


def counters(lab, interface="g0"):
    return next(c for c in lab.ask("xdp counters")["counters"] if c["interface"] == interface)


def kill(lab):
    lab.daemon.signal(signal.SIGKILL)
    assert lab.daemon.wait(5) == -signal.SIGKILL
    lab.daemon = None


def test_the_guard_sends_to_the_socket_what_the_workers_decide(make_lab):
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    assert [s["state"] for s in lab.ask("xdp status")["xdp"]] == ["guard", "guard"]
    before = counters(lab)
    result = lab.load(target="10.9.0.10", source="10.1.0.0/16", rate="50/s",
                      duration="2s").result()
    assert result["useful"] == lab.tenant("acme")["admitted"] == 100
    assert until(2, lambda: counters(lab)["socket"] - before["socket"] >= 100 * 5)
    # Before the workers began a stray packet may have met the stand-in.
    after = counters(lab)
    for other in "passed", "redirected", "dropped":
        assert after[other] == before[other]
    news = {name: after[name] - before[name] for name in ("received", "guarded", "socket")}
    assert news["received"] == news["guarded"] == news["socket"]


def test_who_is_denied_is_dropped_in_the_kernel(make_lab):
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    assert connects(lab, "10.2.0.1")
    lab.ctl("deny", "add", "10.2.0.0/16")
    time.sleep(0.3)  # the last of that connection may have been in the socket
    seen, before = lab.worker()["dropped"]["denied"], counters(lab)["dropped"]["denied"]
    assert not connects(lab, "10.2.0.1")
    assert connects(lab, "10.1.0.1")
    assert until(2, lambda: counters(lab)["dropped"]["denied"] - before >= 2)  # the SYN, twice
    assert lab.worker()["dropped"]["denied"] == seen  # they never saw it
    assert lab.tenant("globex")["attempts"] == 1
    # Nor do those who stand in let it through, nor those who come back.
    kill(lab)
    assert not connects(lab, "10.2.0.1")
    assert connects(lab, "10.1.0.1")
    lab.restart()
    assert not connects(lab, "10.2.0.1")
    lab.ctl("deny", "del", "10.2.0.0/16")
    assert connects(lab, "10.2.0.1")


def neighbours(lab):
    said = lab.run("clients", "ip", "neigh", "show", "dev", "c0")
    return {line.split()[0]: line.split()[-1] for line in said.splitlines()}


def test_case_A15_neighbours_are_found_while_all_else_is_dropped(make_lab):
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    [link_local] = [word for word in lab.run("inside", "ip", "-6", "-o", "addr", "show", "dev",
                                             "s0", "scope", "link").split()
                    if word.startswith("fe80")]
    link_local = link_local.partition("/")[0]
    assert connects(lab, "10.1.0.1")
    lab.ctl("deny", "add", "0.0.0.0/0", "::/0")
    kill(lab)
    lab.run("clients", "ip", "neigh", "flush", "dev", "c0")
    lab.run("inside", "ip", "neigh", "flush", "dev", "s0")
    assert "10.9.0.10" not in neighbours(lab)
    # What asks for the neighbours does not arrive; the questions do, and their answers.
    assert not connects(lab, "10.1.0.1")
    with wire.socket_in(lab.namespace("clients"), socket.AF_INET6, socket.SOCK_DGRAM) as six:
        six.sendto(b"x", (link_local, 9, 0, scope(lab)))
        assert until(3, lambda: neighbours(lab).get(link_local) == "REACHABLE"), neighbours(lab)
    assert neighbours(lab).get("10.9.0.10") in ("REACHABLE", "DELAY", "STALE"), neighbours(lab)


def scope(lab):
    return int(lab.run("clients", "ip", "-o", "link", "show", "dev", "c0").partition(":")[0])


def test_case_S2_what_is_redirected_arrives_only_at_a_veth_with_gro(make_lab):
    """Why the lab has it on: without, the peer of a redirection's target loses every frame."""
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    kill(lab)
    assert connects(lab, "10.1.0.1")
    lab.run("inside", "ethtool", "-K", "s0", "gro", "off")
    assert not connects(lab, "10.1.0.2")
    lab.run("inside", "ethtool", "-K", "s0", "gro", "on")
    assert until(3, lambda: connects(lab, "10.1.0.3"))
