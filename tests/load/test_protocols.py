# SPDX-License-Identifier: BSD-3-Clause
"""sluice-load's protocols beside HTTP, against servers that see every byte of them."""

import socket
import struct
import threading
import time

import pytest

from loadtool import measure, only, outcomes

QUESTION = b"\x03www\x07example\x03org\x00" + struct.pack(">HH", 1, 1)
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


class Datagrams:
    """Answers each datagram with all that `answer` makes of it."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            request, peer = self.socket.recvfrom(2048)
            if not request:
                return
            self.asked.append(request)
            for reply in self.answer(request):
                self.socket.sendto(reply, peer)

    def close(self):
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


@pytest.fixture(name="datagrams")
def fixture_datagrams():
    servers = []

    def start(answer):
        servers.append(Datagrams(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


# -- tcp --


def test_tcp_is_useful_once_connected_and_closes_in_order():
    ends = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        listener.settimeout(10)
        result = measure(listener.getsockname()[1], "--protocol", "tcp", "--deadline", "10s")
        for _ in range(10):
            with listener.accept()[0] as connection:
                ends.append(connection.recv(1))  # a reset would raise
    assert outcomes(result) == only("useful")
    assert ends == 10 * [b""]


def test_tcp_connections_are_refused_or_find_no_answer():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert outcomes(measure(port, "--protocol", "tcp")) == only("refused_rst")
        listener.listen(0)
        with socket.create_connection(("127.0.0.1", port)):
            result = measure(port, "--protocol", "tcp", "--deadline", "300ms")
    assert outcomes(result) == only("refused_timeout")


# -- udp --


def test_udp_echo_with_a_new_id_each_time(datagrams):
    server = datagrams(lambda request: [request])
    result = measure(server.port, "--protocol", "udp", "--deadline", "10s")
    assert outcomes(result) == only("useful")
    assert {len(request) for request in server.asked} == {16}
    assert {request[:8] for request in server.asked} == {b"sluice-1"}
    assert len({request[8:] for request in server.asked}) == 10


def test_udp_takes_its_own_id_only(datagrams):
    def others_first(request):
        other = request[:8] + bytes(8)
        return [b"", request[:15], b"x" + request[1:], other, request + b" and more"]

    deaf = datagrams(lambda request: others_first(request)[:4])
    server = datagrams(others_first)
    assert outcomes(measure(deaf.port, "--protocol", "udp", "--deadline", "200ms")) == \
        only("unfinished")
    assert outcomes(measure(server.port, "--protocol", "udp", "--deadline", "10s")) == \
        only("useful")


def test_udp_late_silent_and_unreachable(datagrams):
    def late(request):
        time.sleep(0.2)
        return [request]

    options = ["--protocol", "udp", "-r", "10/s", "--deadline", "100ms"]
    assert outcomes(measure(datagrams(late).port, *options, "--timeout", "10s")) == only("late", 1)
    server = datagrams(lambda _: [])
    assert outcomes(measure(server.port, *options)) == only("unfinished", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    result = measure(port, "--protocol", "udp", "--deadline", "10s")
    assert outcomes(result) == only("refused_unreachable")
    assert result["refusal_p99_ms"] < 5000


# -- dns --


def reply(query, rcode=NOERROR, name=None, flags=0x8180):
    """What a server that knows no address makes of it: header, question, and nothing else."""
    question = query[12:] if name is None else name
    return query[:2] + struct.pack(">HHHHH", flags | rcode, 1, 0, 0, 0) + question


def dns(port, *options):
    return measure(port, "--protocol", "dns", "--name", "www.example.org", *options)


def test_dns_asks_well_and_the_same_ids_for_a_seed(datagrams):
    server = datagrams(lambda query: [reply(query)])
    assert outcomes(dns(server.port, "--deadline", "10s")) == only("useful")
    assert {query[2:] for query in server.asked} == {
        struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + QUESTION}
    ids = [query[:2] for query in server.asked]
    assert len(set(ids)) == 10
    dns(server.port, "--deadline", "10s")
    dns(server.port, "--deadline", "10s", "--seed", "2")
    assert [query[:2] for query in server.asked[10:20]] == ids
    assert not set(ids) & {query[:2] for query in server.asked[20:]}


@pytest.mark.parametrize("rcode, outcome", [
    (NOERROR, "useful"), (SERVFAIL, "refused_servfail"), (REFUSED, "refused_refused"),
    (NXDOMAIN, "refused_other")])
def test_dns_codes_are_kept_apart(datagrams, rcode, outcome):
    server = datagrams(lambda query: [reply(query, rcode)])
    assert outcomes(dns(server.port, "--deadline", "10s")) == only(outcome)


def test_dns_ignores_what_is_no_reply_to_its_question(datagrams):
    def others(query):
        other_id = bytes([query[0] ^ 1]) + query[1:]
        return [reply(other_id), reply(query, name=QUESTION.replace(b"org", b"net")),
                reply(query, flags=0x0100), reply(query)[:-1],
                reply(query, name=QUESTION[:-3] + b"\x1c\x00\x01")]

    deaf = datagrams(others)
    server = datagrams(lambda query: others(query) + [reply(query).replace(b"www", b"WwW")])
    assert outcomes(dns(deaf.port, "--deadline", "200ms")) == only("unfinished")
    assert outcomes(dns(server.port, "--deadline", "10s")) == only("useful")


def test_dns_names_take_turns(datagrams):
    server = datagrams(lambda query: [reply(query)])
    dns(server.port, "--name", "b.", "--deadline", "10s")
    assert [query[12:] for query in server.asked] == 5 * [QUESTION, b"\x01b\x00\x00\x01\x00\x01"]
