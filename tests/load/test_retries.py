# SPDX-License-Identifier: BSD-3-Clause
"""How often sluice-load tries again, and when."""

import collections
import http.server
import re
import threading
import time

import pytest

from loadtool import measure, only, outcomes


class Refuser(http.server.ThreadingHTTPServer):
    """Knows a piece of work by its source: refuses its first attempts, and notes when each came."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, refusals, status=503, retry_after=None):
        self.refusals, self.status, self.retry_after = refusals, status, retry_after
        self.connections = 0
        self.came = collections.defaultdict(list)
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()

    def gaps(self):
        return [then - now for times in self.came.values() for now, then in zip(times, times[1:])]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.server.connections += 1
        super().setup()

    def do_GET(self):
        times = self.server.came[self.client_address[0]]
        times.append(time.monotonic())
        refused = len(times) <= self.server.refusals
        self.send_response(self.server.status if refused else 200)
        if refused and self.server.retry_after is not None:
            self.send_header("X-Retry-After", "1000")
            self.send_header("retry-after", self.server.retry_after)
            self.send_header("X-Other", "1000")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(name="refuser")
def fixture_refuser():
    servers = []

    def start(*args, **more):
        servers.append(Refuser(*args, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def ten(port, *options):
    """Ten pieces of work, each from an address of its own."""
    return measure(port, "--source", ",".join(f"127.0.0.{i}" for i in range(11, 21)),
                   "--backoff", "10ms..20ms", *options)


def test_work_is_useful_after_its_third_attempt(refuser):
    server = refuser(2)
    result = ten(server.port, "--attempts", "3", "--deadline", "20s")
    assert outcomes(result) == only("useful")
    assert result["attempts"] == 30
    assert {len(times) for times in server.came.values()} == {3}


def test_a_kept_connection_stays_until_the_last_attempt(refuser):
    server = refuser(2)
    # Two pieces of work, 0.5 s apart, are refused once each. One is done while the other waits.
    result = measure(server.port, "-r", "2/s", "-d", "1s", "--attempts", "2", "--jitter", "none",
                     "--backoff", "1s..1s", "--deadline", "20s", "--keep-alive", "1")
    assert outcomes(result) == only("useful", 2)
    assert result["attempts"] == 4
    assert server.connections == 1


@pytest.mark.parametrize("attempts", [1, 2])
def test_work_is_refused_as_its_last_attempt(refuser, attempts):
    server = refuser(2, status=429)
    result = ten(server.port, "--attempts", str(attempts), "--deadline", "20s")
    assert outcomes(result) == only("refused_429")
    assert result["attempts"] == 10 * attempts


def test_other_refusals_are_tried_again_and_other_ends_are_not(refuser):
    server = refuser(1, status=404)
    assert outcomes(ten(server.port, "--attempts", "2", "--deadline", "20s")) == only("useful")
    server = refuser(0)
    assert ten(server.port, "--attempts", "5", "--deadline", "20s")["attempts"] == 10


def test_waits_without_jitter_double_up_to_the_longest(refuser):
    server = refuser(4)
    result = measure(server.port, "-r", "10/s", "--attempts", "5", "--jitter", "none",
                     "--backoff", "100ms..200ms", "--deadline", "20s")
    assert (result["useful"], result["attempts"]) == (1, 5)
    gaps = server.gaps()
    assert [gap >= least for gap, least in zip(gaps, [.099, .199, .199, .199])] == 4 * [True]
    assert result["eff_p99_ms"] >= 700  # counts from the first attempt's time


def test_nobody_tries_again_after_the_deadline(refuser):
    server = refuser(1000)
    result = measure(server.port, "-r", "10/s", "--attempts", "100", "--jitter", "none",
                     "--backoff", "200ms..200ms", "--deadline", "500ms")
    assert outcomes(result) == only("refused_503", 1)
    assert 1 < result["attempts"] <= 3
    assert result["refusal_p50_ms"] < 500


@pytest.mark.parametrize("status, value, more, least_s", [
    (503, "1", [], 1), (429, "1", [], 1), (503, "1", ["--retry-after", "ignore"], 0),
    (404, "1", [], 0), (503, "Wed, 21 Oct 2115 07:28:00 GMT", [], 0), (503, "-1", [], 0),
    (503, "0", [], 0), (503, "1 \t", [], 1), (503, "1 1", [], 0), (503, "1s", [], 0),
    (503, "1 s", [], 0)])
def test_retry_after_is_obeyed_where_it_counts(refuser, status, value, more, least_s):
    server = refuser(1, status=status, retry_after=value)
    result = ten(server.port, "--attempts", "2", "--deadline", "20s", *more)
    assert outcomes(result) == only("useful")
    assert len(server.gaps()) == 10
    assert min(server.gaps()) >= least_s - 0.05
    assert least_s or min(server.gaps()) < 0.5


# A number of 32 bits has no room for the last three.
@pytest.mark.parametrize("value", ["30", "30 ", "429496729", "4294967296", "9999999999", "9" * 40])
def test_retry_after_beyond_the_deadline_ends_the_work(refuser, value):
    server = refuser(1, retry_after=value)
    result = ten(server.port, "--attempts", "2", "--deadline", "20s")
    assert outcomes(result) == only("refused_503")
    assert result["attempts"] == 10
    assert result["refusal_p99_ms"] < 10000
