# SPDX-License-Identifier: BSD-3-Clause
"""sluice-load find, against services whose highest rate is known."""

import http.server
import itertools
import json
import os
import signal
import subprocess
import threading
import time

import pytest

from loadtool import SLUICE_LOAD
from slots import Slots

# Five slots of 0.1 s: 50/s.
SLOTS, SERVICE_S = 5, 0.1


@pytest.fixture(name="service")
def fixture_service():
    service = Slots(SLOTS, lambda _: SERVICE_S)
    yield service
    service.shutdown()
    service.server_close()


def command(port, *options):
    # Of a long deadline the load tool is seldom a tenth behind, however busy the machine.
    return [SLUICE_LOAD, "find", "--target", f"127.0.0.1:{port}", "--trial", "1s",
            "--deadline", "5s", *options]


def find(port, *options, code=0):
    done = subprocess.run(command(port, *options), capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_rate_found_is_what_the_service_can_do(service):
    found = json.loads(find(service.port, "-j", "--min", "10/s", "--max", "320/s",
                            "--deadline", "1s", "--precision", "25%"))
    trials = found["trials"]
    # A rate at which the load tool itself fell behind comes again.
    rates = [rate for rate, _ in itertools.groupby(trial["rate"] for trial in trials)]
    assert rates[:3] == [10, 20, 40]
    # All of a second's work within 2 s, but for the one that may be late.
    assert 40 <= found["found"] <= 50 * 2 + 1
    assert found["limit"] == "late"
    holds = [trial["rate"] for trial in trials if trial["finding"] == "holds"]
    assert found["found"] == max(holds)
    assert min(trial["rate"] for trial in trials if trial["rate"] not in holds) > max(holds)
    assert all(trial["offered"] == trial["rate"] for trial in trials)
    # Before each trial at least ten requests were answered alone.
    assert service.came - sum(trial["offered"] for trial in trials) >= 10 * len(trials)


def test_the_highest_rate_asked_for_may_hold(service):
    lines = find(service.port, "--min", "300/min", "--max", "600/min").splitlines()
    assert lines[0].split() == ["rate", "offered", "useful", "late", "unfinished", "refused",
                                "not_sent", "eff_ms", "finding"]
    assert [line.split()[:3] for line in lines[1:3]] == [["300", "5", "5"], ["600", "10", "10"]]
    assert lines[3:] == ["600/min, the highest that was asked for"]


class Moody(http.server.ThreadingHTTPServer):
    """Answers its n-th request with status(n)."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, status):
        self.status, self.came, self.lock = status, 0, threading.Lock()
        super().__init__(("127.0.0.1", 0), MoodyHandler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()


class MoodyHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with self.server.lock:
            number = self.server.came
            self.server.came += 1
        self.send_response(self.server.status(number))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(name="moody")
def fixture_moody():
    servers = []

    def start(status):
        servers.append(Moody(status))
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_what_was_before_the_first_trial_is_waited_for(moody):
    """Three are refused, then ten in a row are not: so many more make the trial."""
    server = moody(lambda number: 503 if number < 3 else 200)
    lines = find(server.port, "--min", "10/s", "--max", "10/s").splitlines()
    assert lines[1].split()[:6] == ["10", "10", "10", "0", "0", "0"]
    assert lines[2:] == ["10/s, the highest that was asked for"]
    assert server.came == 3 + 10 + 10


def test_even_the_lowest_rate_may_fail(moody):
    def tired(number):
        return 200 if number < 10 else 503

    assert find(moody(tired).port, code=1).splitlines()[1:] == [
        f"{10:10} {10:10} {0:10} {0:10} {0:10} {10:10} {0:10} {'-':>10}  refused",
        "not even 10/s: refused"]
    found = json.loads(find(moody(tired).port, "-j", code=1))
    assert (found["found"], found["limit"], found["unit"]) == (None, "refused", "s")


def test_a_trial_that_the_load_tool_slept_through_is_repeated(moody):
    """Ten alone, then the trial: the tool is stopped in its midst."""
    started = []

    def stops(number):
        if number == 14:
            os.kill(started[0].pid, signal.SIGSTOP)
            time.sleep(0.4)
            os.kill(started[0].pid, signal.SIGCONT)
        return 200

    server = moody(stops)
    with subprocess.Popen(command(server.port, "-j", "--min", "10/s", "--max", "10/s",
                                  "--deadline", "1s"),
                          stdout=subprocess.PIPE, text=True) as tool:
        started.append(tool)
        found = json.loads(tool.communicate(timeout=60)[0])
    trials = [(trial["rate"], trial["finding"]) for trial in found["trials"]]
    assert trials[0] == (10, "generator")
    assert trials[-1] == (10, "holds")
    assert (found["found"], found["limit"]) == (10, "max")
