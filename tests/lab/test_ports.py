# SPDX-License-Identifier: BSD-3-Clause
"""The types of port the lab can be on, and what ordinary programs make of AF_XDP on both."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import wire
from conftest import need_af_xdp
from lab import BUILD, SCRIPT, Lab, until

PORT = 8090
PAGE_BYTES = 4 << 20
BULK_S = 2
BULK_MIN_BYTES = 4 << 20  # a path that works does hundreds of times as much
FRAME_BYTES = 1514
AF_PACKET_BYTES = 8 << 20


def need(command):
    if not shutil.which(command):
        pytest.skip(f"{command} is missing; see tools/packages")


def listen(lab):
    listener = wire.socket_in(lab.namespace("inside"), socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("10.9.0.10", PORT))
    listener.listen(1)
    return listener


def serve_page(listener, page):
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page) + page)


GUARDED = pytest.mark.parametrize("xdp", [[], ["--xdp"]], ids=["plain", "guarded"])


@GUARDED
def test_curl_gets_what_was_served_through_af_xdp(make_lab, tmp_path, xdp):
    need("curl")
    lab = make_lab(port="af_xdp", xdp=xdp)
    page, got = os.urandom(PAGE_BYTES), tmp_path / "got"
    with listen(lab) as listener:
        threading.Thread(target=serve_page, args=(listener, page), daemon=True).start()
        code = lab.run("clients", "curl", "--silent", "--max-time", 15, "--interface", "10.1.0.1",
                       "--output", got, "--write-out", "%{http_code}",
                       f"http://10.9.0.10:{PORT}/")
    assert code == "200"
    assert got.read_bytes() == page
    tenant = lab.tenant("acme")
    assert (tenant["attempts"], tenant["admitted"]) == (1, 1)
    assert tenant["bytes"]["out"] > PAGE_BYTES  # with its headers
    assert [p["driver"] for p in lab.ask("ports")["ports"]] == ["net_af_xdp"] * 2


@GUARDED
@pytest.mark.parametrize("direction", ["in", "out"])
def test_iperf3_runs_through_af_xdp(make_lab, direction, xdp):
    need("iperf3")
    lab = make_lab(port="af_xdp", xdp=xdp)
    server = subprocess.Popen(lab.command("inside", "iperf3", "--server", "--bind", "10.9.0.10",
                                          "--port", PORT), stdout=subprocess.DEVNULL)
    try:
        assert until(5, lambda: f":{PORT} " in lab.run("inside", "ss", "-Hltn"))
        report = json.loads(lab.run(
            "clients", "iperf3", "--client", "10.9.0.10", "--port", PORT, "--bind", "10.1.0.1",
            "--time", BULK_S, "--json", *(["--reverse"] if direction == "out" else [])))
    finally:
        server.kill()
        server.wait()
    came = report["end"]["sum_received"]["bytes"]
    print(f"{direction}: {report['end']['sum_received']['bits_per_second'] / 1e6:.0f} Mbit/s, "
          f"{report['end']['sum_sent'].get('retransmits')} segments sent again")
    assert came >= BULK_MIN_BYTES
    tenant = lab.tenant("acme")
    # One connection for the test's parameters, one for its bulk.
    assert (tenant["attempts"], tenant["admitted"]) == (2, 2)
    # All of it came through the gate, in frames a wire can carry.
    assert tenant["bytes"][direction] >= came
    assert tenant["bytes"][direction] <= tenant["packets"][direction] * FRAME_BYTES


def ports_of(lab):
    said = lab.script("status").stdout
    return said.rpartition(" ports=")[2].split()[0]


def test_auto_takes_af_xdp_and_says_so(machine, tmp_path):
    need_af_xdp()
    lab = Lab(f"test{os.getpid()}-auto", tmp_path)
    try:
        done = lab.script("up", "--port", "auto")
        assert "lab: ports: af_xdp\n" in done.stdout
        lab.adopt()
        assert ports_of(lab) == "af_xdp"
        assert [p["driver"] for p in lab.ask("ports")["ports"]] == ["net_af_xdp"] * 2
    finally:
        lab.down()


def test_auto_takes_af_packet_where_af_xdp_fails_and_says_why(machine, tmp_path):
    """No more memory may be locked than AF_PACKET's rings take; AF_XDP's frames need more."""
    lab = Lab(f"test{os.getpid()}-auto", tmp_path)
    try:
        done = subprocess.run(
            ["prlimit", f"--memlock={AF_PACKET_BYTES}:{AF_PACKET_BYTES}", "setpriv", "--bounding-set=-ipc_lock",
             "--inh-caps=-ipc_lock", SCRIPT, "up", "--port", "auto"],
            capture_output=True, text=True, timeout=60,
            env=dict(os.environ, SLUICE_LAB=lab.name, SLUICE_BUILD=str(BUILD)))
        assert done.returncode == 0, done.stderr
        assert "lab: ports: af_packet, for af_xdp did not come up:\n" in done.stdout
        assert "net_af_xdp0,iface=g0,busy_budget=0" in done.stdout.partition("come up:\n")[2]
        lab.adopt()
        assert ports_of(lab) == "af_packet"
        assert [p["driver"] for p in lab.ask("ports")["ports"]] == ["net_af_packet"] * 2
        with wire.connect(lab, "10.1.0.1", 80):
            pass
        assert lab.tenant("acme")["admitted"] == 1
    finally:
        lab.down()


def on_queues(lab, outside):
    """The lab's file on an interface of four queues."""
    path, log = lab.folder / "queues.conf", lab.folder / "sluiced.log"
    text = (lab.state / "sluice.conf").read_text()
    path.write_text(text.replace(str(lab.socket), str(lab.folder / "queues.sock"))
                    .replace('"net_af_packet0,iface=g0"', outside)
                    .replace('"net_af_packet1,iface=g1"', '"net_ring0"'))
    daemon = lab.start(path)
    until(20, lambda: daemon.ended() or "sluiced: ready" in log.read_text())
    daemon.signal(signal.SIGTERM)
    code, said = daemon.wait(5), log.read_text()
    log.unlink()
    return code, said, path


def takes(lab, *words):
    try:
        lab.run("gateway", *words)
    except subprocess.CalledProcessError:
        return False
    return True


def test_case_S7_an_interface_with_more_queues_than_are_taken_is_refused(make_lab):
    need_af_xdp()
    lab = make_lab()
    lab.run("gateway", "ip", "link", "add", "q0", "numrxqueues", 4, "numtxqueues", 4, "type",
            "veth", "peer", "name", "q1", "numrxqueues", 4, "numtxqueues", 4)
    for device in "q0", "q1":
        lab.run("gateway", "ip", "link", "set", device, "up")
    one = '"net_af_xdp0,iface=q0,busy_budget=0"'

    code, said, path = on_queues(lab, one)
    assert code == 4
    assert said == (
        f"{path}:4: gates[0].outside: interface q0 has 4 receive queues, of which AF_XDP takes 1 "
        "here, and what arrives on others is lost: take them all (a device for each, start_queue=0 "
        "to 3), or give it no more than that (ethtool -L q0 rx 1, and tx 1 at the peer of a veth)\n"
        "sluiced: this machine lacks what its configuration names\n")

    # Both ways it names are ways out.
    code, said, _ = on_queues(lab, ", ".join(
        f'"net_af_xdp{q},iface=q0,busy_budget=0,start_queue={q}"' for q in range(4)))
    assert (code, "sluiced: ready" in said) == (0, True), said
    # The kernel takes the sockets of a process away after it has ended.
    assert until(5, lambda: takes(lab, "ethtool", "-L", "q0", "rx", 1))
    lab.run("gateway", "ethtool", "-L", "q1", "tx", 1)
    code, said, _ = on_queues(lab, one)
    assert (code, "sluiced: ready" in said) == (0, True), said
