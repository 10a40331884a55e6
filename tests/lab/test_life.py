# SPDX-License-Identifier: BSD-3-Clause
"""Start, stop, kill and restart of the daemon under traffic, and what it leaves behind."""

import json
import os
import pathlib
import signal
import socket
import stat
import threading
import time

import pytest

import wire
from lab import Lab, config, until

STREAM_PORT = 8090
CHUNK = bytes(range(256)) * 16
CHUNKS = 400  # 20 ms apart: eight seconds


class Stream:
    """A service that sends CHUNKS chunks, slowly, to one client."""

    def __init__(self, lab):
        self.listener = wire.socket_in(lab.namespace("inside"), socket.AF_INET,
                                       socket.SOCK_STREAM)
        self.listener.bind(("10.9.0.10", STREAM_PORT))
        self.listener.listen(1)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        connection, _ = self.listener.accept()
        with connection, self.listener:
            for _ in range(CHUNKS):
                connection.sendall(CHUNK)
                time.sleep(0.02)


class Download:
    """Reads it in a thread."""

    def __init__(self, lab, source):
        self.data, self.client = bytearray(), wire.connect(lab, source, STREAM_PORT, timeout=20)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        with self.client:
            while piece := self.client.recv(65536):
                self.data += piece

    def whole(self):
        self.thread.join(30)
        return not self.thread.is_alive() and self.data == CHUNK * CHUNKS


def get(client):
    """One page over a connection that stays open; the status code."""
    client.sendall(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n")
    reply = b""
    while not reply.endswith(b"ok\n"):
        piece = client.recv(4096)
        assert piece, reply
        reply += piece
    return int(reply.split()[1])


def promiscuous(lab):
    links = json.loads(lab.run("gateway", "ip", "-d", "-j", "link", "show"))
    return {link["ifname"]: link["promiscuity"] for link in links if link["ifname"] != "lo"}


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_sigterm_under_load_then_a_restart_adopts_what_runs(make_lab, port):
    lab = make_lab("window = 8;", port)
    Stream(lab)
    download = Download(lab, "10.1.0.1")
    client = wire.connect(lab, "10.1.0.2", 80)
    assert get(client) == 200
    assert promiscuous(lab) == {"g0": 1, "g1": 1}
    load = lab.load(target="10.9.0.10", source="10.2.0.0/16", rate="100/s", duration="1s")
    assert until(5, lambda: lab.tenant("globex")["admitted"] > 10)

    start = time.monotonic()
    assert lab.stop() == 0
    print(f"{port}: SIGTERM under load to exit: {time.monotonic() - start:.3f} s")
    assert not lab.socket.exists()
    assert promiscuous(lab) == {"g0": 0, "g1": 0}
    load.result()
    had = len(download.data)

    lab.restart()
    assert get(client) == 200
    assert until(10, lambda: len(download.data) > had + len(CHUNK))
    acme, service = lab.tenant("acme"), lab.service()
    assert (acme["attempts"], acme["admitted"], acme["adopted"]) == (0, 0, 2)
    assert acme["window"] == {"limit": 8, "used": 2, "peak": 2, "debt": 0}
    assert service["adopted"] >= 2
    client.close()
    assert until(3, lambda: lab.tenant("acme")["window"]["used"] == 1)
    assert download.whole()
    # And new work enters.
    with wire.connect(lab, "10.1.0.3", 80) as fresh:
        assert get(fresh) == 200
    assert lab.tenant("acme")["admitted"] == 1


@pytest.mark.parametrize("port", ["af_packet", "af_xdp"])
def test_a_start_after_sigkill_takes_over(make_lab, port):
    lab = make_lab(port=port)
    lab.daemon.signal(signal.SIGKILL)
    assert lab.daemon.wait(5) == -signal.SIGKILL
    # What it left behind: a socket that nobody answers.
    assert stat.S_ISSOCK(lab.socket.stat().st_mode)
    with pytest.raises(ConnectionRefusedError):
        lab.ask("status")
    # And a directory of EAL, which those who live have as well.
    left = pathlib.Path(f"/run/dpdk/sluice{lab.daemon.pid}")
    assert left.is_dir()
    lab.restart()
    assert not left.exists()
    assert pathlib.Path(f"/run/dpdk/sluice{lab.daemon.pid}").is_dir()
    with wire.connect(lab, "10.1.0.1", 80) as client:
        assert get(client) == 200
    assert lab.tenant("acme")["admitted"] == 1


def test_the_lab_restarts_its_daemon_on_the_same_file(make_lab):
    lab = make_lab()
    others = {what: process.pid for what, process in lab.processes.items()}
    lab.ctl("set", "tenant", "acme", "window=5")
    before = lab.daemon
    lab.script("restart")
    assert before.wait(5) == 0
    lab.adopt()
    assert lab.daemon.pid != before.pid
    assert {what: process.pid for what, process in lab.processes.items()} == others
    assert lab.tenant("acme")["window"]["limit"] == "unlimited"
    lab.daemon.signal(signal.SIGKILL)
    assert lab.daemon.wait(5) == -signal.SIGKILL
    lab.script("restart")
    lab.adopt()
    with wire.connect(lab, "10.1.0.1", 80) as client:
        assert get(client) == 200


def variant(lab, name, old, new):
    """The lab's configuration with one thing changed, in a file of its own."""
    text = (lab.state / "sluice.conf").read_text()
    assert old in text
    path = lab.folder / name
    path.write_text(text.replace(old, new))
    return path


def test_a_file_that_cannot_be_filled_in_is_refused_at_once(tmp_path):
    lab = Lab(f"test{os.getpid()}-none", tmp_path)
    for place in "@SOCKET@", "@OUTSIDE@", "@INSIDE@":
        path = tmp_path / "bare.conf"
        path.write_text(config().replace(place, "/x") + f"# {place}\n")
        done = lab.script("up", "--config", str(path), check=False)
        assert done.returncode == 1 and f"{path}: no {place} in it" in done.stderr
        assert not lab.state.exists()


def test_each_way_not_to_start_has_its_exit_code(make_lab):
    lab = make_lab()
    assert lab.start().wait(10) == 5  # the socket is held by the lab's own daemon

    plain = lab.folder / "plain"
    plain.write_text("not to be touched")
    path = variant(lab, "file.conf", str(lab.socket), str(plain))
    assert lab.start(path).wait(10) == 6
    assert plain.read_text() == "not to be touched"

    path = variant(lab, "typo.conf", "class", "clas")
    assert lab.start(path).wait(10) == 3
    assert f"{path}:" in (lab.folder / "sluiced.log").read_text()

    other = lab.folder / "other.sock"
    path = variant(lab, "device.conf", str(lab.socket), str(other))
    path.write_text(path.read_text().replace("iface=g1", "iface=nowhere"))
    assert lab.start(path).wait(20) == 4
    assert not other.exists()

    path = variant(lab, "help.conf", 'idle = "sleep"', 'idle = "sleep"; extra = "--help"')
    path.write_text(path.read_text().replace(str(lab.socket), str(other)))
    assert lab.start(path).wait(20) == 4
    assert not other.exists()
    assert (lab.folder / "sluiced.log").read_text().endswith(
        'sluiced: EAL ended the process; eal.extra is "--help"\n')

    # All of this was no matter to the daemon that lives.
    assert not lab.daemon.ended()
    with wire.connect(lab, "10.1.0.1", 80) as client:
        assert get(client) == 200
