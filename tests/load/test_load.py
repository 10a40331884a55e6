# SPDX-License-Identifier: BSD-3-Clause
"""sluice-load against a server that behaves as the path asks: every reply has its own outcome."""

import csv
import io
import json
import socket
import struct
import subprocess
import threading
import time

import pytest

from loadtool import SLUICE_LOAD, measure, only, outcomes, run

REPLIES = {
    "/length": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "/to-the-end": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
    "/slow": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "/cut": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
    "/404": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "/403": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
    "/429": b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
    "/503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "/nonsense": b"220 mail.example ESMTP\r\n",
    "/close": b"",
    "/rst": b"",
    "/silence": b"",
    "/more": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok?",
    "/last": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    "/hints": b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
              b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "/processing": 2 * b"HTTP/1.1 102 Processing\r\nRetry-After: 9\r\n\r\n"
                   + b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "/interim": b"HTTP/1.1 100 Continue\r\n\r\n",
    "/switching": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n?",
    "/end": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
}
# After all others the server closes the connection.
KEPT = ["/length", "/chunked", "/hints", "/slow", "/more", "/last"]


def read_head(connection):
    """A request; empty when the client is gone."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(4096)
        if not piece:
            return ""
        head += piece
    return head.decode()


def serve(connection, peers, asked):
    with connection:
        while head := read_head(connection):
            verb, path, _ = head.split("\r\n")[0].split(" ")
            assert verb == "GET"
            peers.append(connection.getpeername())
            asked.append((connection.getpeername()[0], path))
            if path == "/slow":
                time.sleep(0.4)
            if path == "/silence":
                connection.recv(1)  # until the client gives up
            if path == "/rst":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
            connection.sendall(REPLIES[path])
            if path not in KEPT or "Connection: keep-alive" not in head:
                return


class Server:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.peers, self.asked = [], []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection, self.peers, self.asked), daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture(name="server")
def fixture_server():
    server = Server()
    yield server
    server.close()


@pytest.mark.parametrize("path, outcome", [
    ("/length", "useful"), ("/chunked", "useful"), ("/to-the-end", "useful"),
    ("/hints", "useful"), ("/processing", "refused_503"), ("/interim", "unfinished"),
    ("/switching", "refused_other"), ("/cut", "unfinished"), ("/404", "refused_other"), ("/403", "refused_403"),
    ("/429", "refused_429"), ("/503", "refused_503"), ("/nonsense", "unfinished"),
    ("/close", "refused_other"), ("/rst", "refused_rst")])
def test_each_reply_has_its_outcome(server, path, outcome):
    result = measure(server.port, "--path", path, "--deadline", "10s")
    assert outcomes(result) == only(outcome)


def test_a_reply_after_the_deadline_is_late_while_the_client_waits(server):
    result = measure(server.port, "--path", "/slow", "--deadline", "100ms",
                     "--timeout", "10s")
    assert outcomes(result) == only("late")
    assert result["eff_p50_ms"] == result["eff_p99_ms"] == 100
    assert result["p99_ms"] >= result["p50_ms"] >= 400


def test_the_client_gives_up_at_its_deadline(server):
    result = measure(server.port, "--path", "/silence", "--deadline", "200ms")
    assert outcomes(result) == only("unfinished")
    assert result["eff_p50_ms"] == 200
    assert result["p50_ms"] is None
    assert result["refusal_p50_ms"] is None


def test_a_closed_port_refuses():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert outcomes(measure(port)) == only("refused_rst")


def test_a_dropped_syn_is_a_refusal_by_timeout():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        with socket.create_connection(listener.getsockname()):
            # The only place is taken: the kernel drops what comes now.
            result = measure(listener.getsockname()[1], "--deadline", "300ms")
    assert outcomes(result) == only("refused_timeout")
    assert result["refusal_p50_ms"] >= 300


def test_what_finds_no_place_is_not_sent_and_said_aloud(server):
    done = run(server.port, "-j", "--path", "/silence", "--connections", "1",
               "--deadline", "1s")
    result = json.loads(done.stdout)
    assert outcomes(result) == {**only("unfinished", 1), "not_sent": 9}
    assert "9 of 10 requests not sent" in done.stderr


@pytest.mark.parametrize("verb", [[], ["find"]])
@pytest.mark.parametrize("limit", [20, 32])
def test_too_few_descriptors_are_told(server, verb, limit):
    done = subprocess.run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", SLUICE_LOAD, *verb, "--target",
                           f"127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == ("sluice-load: too few file descriptors (ulimit -n): 32 are needed, and one for "
                           "each connection\n")


def test_one_descriptor_more_is_one_connection(server):
    done = subprocess.run(["sh", "-c", 'ulimit -n 33; exec "$@"', "sh", SLUICE_LOAD, "--target",
                           f"127.0.0.1:{server.port}", "--path", "/silence", "--deadline", "1s", "-d", "100ms",
                           "-j"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert outcomes(json.loads(done.stdout)) == {**only("unfinished", 1), "not_sent": 9}


def test_sources_take_turns(server):
    measure(server.port, "--path", "/length", "--source", "127.0.0.2,127.0.0.3",
            "--deadline", "10s")
    assert sorted(ip for ip, _ in server.peers) == 5 * ["127.0.0.2"] + 5 * ["127.0.0.3"]


def test_paths_take_turns_for_every_source(server):
    result = measure(server.port, "--path", "/length", "--path", "/404", "--deadline", "10s",
                     "-d", "200ms", "--source", "127.0.0.2,127.0.0.3")
    assert outcomes(result) == {**only("useful"), "refused_other": 10}
    assert sorted(server.asked) == [(f"127.0.0.{i}", path) for i in (2, 3) for path in ("/404", "/length")
                                    for _ in range(5)]


@pytest.mark.parametrize("path", ["/length", "/chunked", "/hints"])
def test_a_kept_connection_is_used_again(server, path):
    result = measure(server.port, "--path", path, "--keep-alive", "1", "-r", "20/s", "-d", "1s",
                     "--deadline", "10s")
    assert result["useful"] + result["not_sent"] == 20
    assert result["useful"] == len(server.peers) > 1
    assert len(set(server.peers)) == 1


def test_kept_connections_are_no_more_than_asked_for(server):
    result = measure(server.port, "--path", "/slow", "--keep-alive", "3", "-d", "600ms",
                     "--deadline", "10s")
    # Busy for 0.4 s each, then the same three again.
    assert result["useful"] + result["not_sent"] == 60
    assert result["useful"] > 3
    assert len(set(server.peers)) == 3


@pytest.mark.parametrize("path", ["/to-the-end", "/more", "/last", "/end"])
def test_a_connection_that_does_not_last_is_not_used_again(server, path):
    result = measure(server.port, "--path", path, "--keep-alive", "20", "-r", "20/s", "-d", "500ms",
                     "--deadline", "10s")
    assert outcomes(result) == only("useful")
    assert len(set(server.peers)) == 10


def test_csv_and_series_have_the_same_names(server):
    port = server.port
    rows = list(csv.DictReader(io.StringIO(run(port, "--path", "/503", "--csv").stdout)))
    assert len(rows) == 1
    assert list(rows[0]) == list(measure(port, "--path", "/503"))
    assert rows[0]["refused_503"] == "10"
    assert rows[0]["eff_p50_ms"] == ""
    series = list(csv.DictReader(io.StringIO(
        run(port, "--path", "/503", "--csv", "--series", "-d", "1500ms").stdout)))
    assert [(row["t_s"], row["offered"], row["refused_503"]) for row in series] == [
        ("0", "100", "100"), ("1", "50", "50")]


@pytest.mark.parametrize("options, said", [
    (["-r", "20"], "-r"), (["-r", "0/s"], "-r"), (["-r", "1000001/s"], "-r"),
    (["--duration", "61min"], "--duration"), (["--duration", "5"], "--duration"),
    (["--timeout", "1ms"], "--timeout"), (["--path", "x"], "--path"),
    (["--path", "/a b"], "--path"), (["--source", "::1"], "address family"),
    (["--connections", "0"], "--connections"), (["--protocol", "ftp"], "--protocol"),
    (["--protocol", "dns", "--path", "/"], "--path"), (["--protocol", "udp", "--name", "x"], "--name"),
    (["--protocol", "dns", "--name", "a..b"], "--name"),
    (["--protocol", "dns", "--name", "a" * 64], "--name"),
    (["--protocol", "tcp", "--keep-alive", "1"], "--keep-alive"),
    (["--target", "web:80"], "--target"),
    (["--attempts", "0"], "--attempts"), (["--attempts", "101"], "--attempts"),
    (["--backoff", "1s"], "--backoff"), (["--backoff", "2s..1s"], "--backoff"),
    (["--jitter", "some"], "--jitter"), (["--retry-after", "maybe"], "--retry-after"),
    (["--closed", "0"], "--closed"), (["--closed", "2", "--connections", "1"], "--closed"),
    (["--closed", "2", "--rate", "1/s"], "--rate"), (["--closed", "2", "--poisson"], "--poisson"), (["extra"], "extra")])
def test_what_cannot_be_used_is_told(options, said):
    done = subprocess.run([SLUICE_LOAD, "--target", "127.0.0.1:9", *options], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("options", [[], ["-j"], ["--csv", "--series"], ["--version"], ["--help"],
                                     ["find", "--max", "10/s", "--trial", "1s"]], ids=" ".join)
def test_what_cannot_be_written_is_told(server, options):
    target = [] if options[-1:] in (["--version"], ["--help"]) else [
        "--target", f"127.0.0.1:{server.port}", "--path", "/length"]
    short = ["-d", "100ms"] if target and "find" not in options else []
    for script, why in [('exec "$@" >/dev/full', "No space left on device"),
                        ('exec "$@" >&-', "Bad file descriptor")]:
        done = subprocess.run(["sh", "-c", script, "sh", SLUICE_LOAD, *options, *target, *short],
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (1, f"sluice-load: cannot write: {why}\n")


@pytest.mark.parametrize("options, said", [
    (["--min", "2/s", "--max", "1/s"], "--min"), (["--min", "1/min"], "--min"),
    (["--percentile", "0"], "--percentile"), (["--percentile", "101"], "--percentile"),
    (["--precision", "2"], "--precision"), (["--precision", "51%"], "--precision"),
    (["--rate", "1/s"], "--rate"), (["--closed", "1"], "--closed"),
    (["--scenario", "lab.conf"], "--scenario")])
def test_what_find_cannot_use_is_told(options, said):
    done = subprocess.run([SLUICE_LOAD, "find", "--target", "127.0.0.1:9", *options],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
