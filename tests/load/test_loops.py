# SPDX-License-Identifier: BSD-3-Clause
"""Closed loops of sluice-load, and what they hide."""

import socket

import pytest

from loadtool import OUTCOMES, measure, only, outcomes, run
from slots import Slots


@pytest.fixture(name="service")
def fixture_service():
    services = []

    def start(*args):
        services.append(Slots(*args))
        return services[-1]

    yield start
    for service in services:
        service.shutdown()
        service.server_close()


def closed(port, clients, *options):
    """measure() without its rate."""
    return measure(port, "--closed", str(clients), *options, rate=None)


def test_each_client_asks_again_when_its_last_request_has_ended(service):
    slow = service(8, lambda _: 0.1)
    result = closed(slow.port, 3, "-d", "550ms", "--deadline", "10s")
    assert slow.peak == 3
    assert slow.came == result["useful"] == result["offered"] == result["attempts"]
    assert 3 <= result["offered"] <= 3 * 6
    assert result["closed"] == 3
    assert result["p50_ms"] >= 100


def test_a_closed_loop_says_so(service):
    port = service(1, lambda _: 0).port
    said = "closed loop: latency counts from the actual sending"
    assert said in run(port, "--closed", "1", rate=None).stdout
    assert said not in run(port).stdout
    assert measure(port)["closed"] == 0


def test_a_closed_loop_goes_on_after_refusals():
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    result = closed(port, 2, "-d", "300ms")
    assert result["refused_rst"] == result["offered"] > 2
    assert outcomes(result) == only("refused_rst", result["offered"])


def test_what_cannot_be_sent_is_not_tried_without_end():
    # No address of this host, so no socket can be bound.
    with socket.create_server(("127.0.0.1", 0)) as one:
        result = closed(one.getsockname()[1], 1, "-d", "300ms", "--source", "192.0.2.1")
    assert result["not_sent"] == result["offered"] == sum(result[name] for name in OUTCOMES)
    assert 1 < result["offered"] <= 31


def test_a_closed_loop_hides_the_waiting_that_an_open_one_shows(service):
    """Four slots, 20 ms, each 25th 200 ms: 147/s. What is asked for at 200/s waits ever longer;
    four clients, however often they ask, never see more than the slow request itself."""
    def service_s(number):
        return 0.2 if number % 25 == 24 else 0.02

    shown = measure(service(4, service_s).port, "-d", "4s", "--deadline", "30s", rate="200/s")
    hidden = closed(service(4, service_s).port, 4, "-d", "4s", "--deadline", "30s")
    assert outcomes(shown) == only("useful", 800)
    # The 53/s that are too many wait at the end for as long as it takes to do them.
    assert shown["eff_p99_ms"] >= 1200
    assert hidden["eff_p50_ms"] < shown["eff_p50_ms"] / 3
    assert hidden["eff_p99_ms"] < shown["eff_p99_ms"] / 3
