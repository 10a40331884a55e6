# SPDX-License-Identifier: BSD-3-Clause
"""sluice-load plays scenarios: the arrivals that sluice-sim predicts, sent to a real service."""

import collections
import csv
import io
import json
import os
import socket
import subprocess
import threading
import time

import pytest

from loadtool import SLUICE_LOAD, only, outcomes

SLUICE_SIM = os.environ.get("SLUICE_SIM")
simulated = pytest.mark.skipif(not SLUICE_SIM, reason="sluice-sim is not built: it needs jansson")

SCENARIO = """
seed = 3;
duration = "1s";
{gate}
arrivals = ( {arrivals} );
requests = ( {requests} );
stages = ( {{ name = "web"; servers = 4; }} );
clients = {{ {clients} }};
events = ( {{ at = "100ms"; slow = "web"; factor = 10.0; for = "100ms"; }} );
"""
GATE = """gate = {{
  tenants = ( {{ name = "default"; }}, {{ name = "acme"; prefixes = ["{prefix}"]; }} );
  services = ( {{ name = "web"; addresses = ["10.9.0.10"]; protocol = "tcp"; ports = ["80"]; window = 5; }} );
}};"""
STEPS = 'steps = ( { at = "web"; time = "1ms"; } );'
PLAIN = f'{{ deadline = "10s"; {STEPS} }}'


class Server:
    """Answers each connection once, as `answer(path, how often it was asked for before)` says: the
    reply and how many seconds it takes, or None, and there is none until the client goes."""

    def __init__(self, answer=lambda *_: ("200 OK", 0)):
        self.answer, self.asked, self.lock = answer, [], threading.Lock()
        self.under_way = self.peak = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, peer = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection, peer[0]), daemon=True).start()

    def serve(self, connection, source):
        with connection:
            path = connection.recv(4096).decode().split(" ")[1]
            with self.lock:
                said = self.answer(path, sum(one[1] == path for one in self.asked))
                self.asked.append((source, path, time.monotonic()))
                self.under_way += 1
                self.peak = max(self.peak, self.under_way)
            if said:
                time.sleep(said[1])
            else:
                connection.recv(1)
            with self.lock:
                self.under_way -= 1
            if said:
                connection.sendall(f"HTTP/1.1 {said[0]}\r\nContent-Length: 0\r\n\r\n".encode())

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture(name="serve")
def fixture_serve():
    servers = []

    def start(*args):
        servers.append(Server(*args))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(name="write")
def fixture_write(tmp_path):
    def write(arrivals, requests=PLAIN, clients="", gate=""):
        path = tmp_path / "played.conf"
        path.write_text(SCENARIO.format(arrivals=arrivals, requests=requests, clients=clients, gate=gate))
        return str(path)

    return write


def load(*words):
    return subprocess.run([SLUICE_LOAD, *map(str, words)], capture_output=True, text=True, timeout=60,
                          check=False)


def play(server, path, *more):
    done = load("--target", f"127.0.0.1:{server.port}", "--scenario", path, "-j", *more)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def paths(server):
    return dict(collections.Counter(path for _, path, _ in server.asked))


@simulated
@pytest.mark.parametrize("seed", [None, 8])
def test_arrivals_and_kinds_are_those_of_the_simulator(serve, write, seed):
    """A Poisson process with a step beside an evenly spaced one, two kinds: from the same numbers."""
    kinds = ", ".join(f'{{ name = "{name}"; path = "/{name}"; weight = {weight}; deadline = "10s"; '
                      f'{STEPS} }}' for name, weight in [("a", 3.0), ("b", 1.0)])
    path = write('{ rate = "80/s"; step = { factor = 3.0; from = "400ms"; for = "300ms"; }; },'
                 '{ rate = "50/s"; spacing = "even"; requests = ["b"]; }', kinds)
    chosen = ["--seed", str(seed)] if seed else []
    done = subprocess.run([SLUICE_SIM, "run", path, "-j", *chosen], capture_output=True, text=True,
                          timeout=60, check=True)
    predicted = json.loads(done.stdout)["runs"][0]["summary"]
    server = serve()
    result = play(server, path, *chosen)
    assert result["offered"] == predicted["offered"] > 150
    assert outcomes(result) == only("useful", result["offered"])
    assert [result[f"useful.{kind}"] for kind in "ab"] == [predicted[f"useful.{kind}"] for kind in "ab"]
    assert paths(server) == {f"/{kind}": predicted[f"useful.{kind}"] for kind in "ab"}
    assert result["attempts"] == result["admitted"] == result["offered"]


def test_options_send_what_a_scenario_of_their_rate_and_seed_does(serve, write):
    path = write('{ rate = "90/s"; }')
    server = serve()
    played = play(server, path, "--seed", "5", "--set", "duration=3s", "--series")
    done = load("--target", f"127.0.0.1:{server.port}", "--rate", "90/s", "--poisson", "--seed", "5",
                "-d", "3s", "--deadline", "10s", "-j", "--series")
    assert done.returncode == 0, done.stderr
    of_seconds = [[second["offered"] for second in result["series"]]
                  for result in (played, json.loads(done.stdout))]
    assert of_seconds[0] == of_seconds[1] == [83, 74, 94]


def test_set_replaces_values_of_the_file(serve, write):
    path = write('{ rate = "10/s"; spacing = "even"; }')
    assert play(serve(), path)["offered"] == 10
    result = play(serve(), path, "--set", "arrivals.0.rate=40/s", "--set", "duration=500ms")
    assert outcomes(result) == only("useful", 20)


def test_a_trace_is_followed(serve, write):
    server = serve()
    result = play(server, write('{ times = ["0s", "100ms", "400ms", "1500ms"]; }'), "--series")
    assert outcomes(result) == only("useful", 3)  # the last is after the end
    times = [at for _, _, at in server.asked]
    assert times[1] - times[0] >= 0.09 and times[2] - times[1] >= 0.29


def test_tenants_ask_from_their_own_addresses(serve, write):
    """acme has the one address that the loopback device has; who has no prefixes takes --source."""
    gate = GATE.format(prefix="127.0.0.0/8")
    path = write('{ rate = "20/s"; spacing = "even"; tenant = "acme"; },'
                 '{ rate = "10/s"; spacing = "even"; }', gate=gate)
    server = serve()
    play(server, path, "--source", "127.0.0.2,127.0.0.3")
    assert collections.Counter(source for source, _, _ in server.asked) == {
        "127.0.0.1": 20, "127.0.0.2": 5, "127.0.0.3": 5}
    server = serve()
    play(server, path)
    assert len(server.asked) == 30


def test_an_address_belongs_to_the_longest_prefix(serve, write):
    gate = GATE.format(prefix="127.0.0.0/8").replace(
        '"acme"', '"globex"; prefixes = ["127.0.0.0/9"]; }, { name = "acme"')
    done = load("--target", f"127.0.0.1:{serve().port}", "--scenario",
                write('{ rate = "1/s"; tenant = "acme"; }', gate=gate))
    assert done.returncode == 2
    assert done.stderr == "sluice-load: this host has no address of tenant acme\n"


def test_each_kind_has_its_deadline(serve, write):
    kinds = ", ".join(f'{{ name = "{name}"; path = "/{name}"; {deadline} {STEPS} }}' for name, deadline in
                      [("soon", 'deadline = "100ms";'), ("later", 'deadline = "10s";'), ("any", "")])
    path = write(", ".join(f'{{ rate = "10/s"; spacing = "even"; requests = ["{name}"]; }}'
                           for name in ("soon", "later", "any")), kinds, 'timeout = "20s";')
    result = play(serve(lambda *_: ("200 OK", 0.3)), path)
    assert outcomes(result) == {**only("late", 10), "useful": 20}
    assert result["p50_ms"] >= 300
    # The late third counts at the deadline of its own.
    assert result["eff_p50_ms"] >= 300


def test_a_try_has_its_own_time_and_what_was_not_finished_is_tried_again(serve, write):
    path = write('{ times = ["0s"]; }', f'{{ deadline = "300ms"; {STEPS} }}',
                 'tries = 3; backoff = "200ms";')
    server = serve(lambda _, before: ("200 OK", 0) if before == 2 else None)
    result = play(server, path)
    assert outcomes(result) == only("useful", 1)
    assert (result["attempts"], result["admitted"]) == (3, 3)
    assert result["eff_p99_ms"] < 300  # from the third try on
    times = [at for _, _, at in server.asked]
    gaps = [then - now for now, then in zip(times, times[1:])]
    assert [gap >= least for gap, least in zip(gaps, [.45, .6])] == [True, True]  # 500 ms, then 700


def test_no_try_begins_after_giving_up(serve, write):
    server = serve(lambda *_: ("503 Service Unavailable", 0))
    path = write('{ times = ["0s"]; }', clients='tries = 100; backoff = "100ms"; backoff_max = "100ms"; '
                 'give_up = "350ms";')
    result = play(server, path)
    assert outcomes(result) == only("refused_503", 1)
    assert 2 <= len(server.asked) <= 4  # at 0, 100, 200, 300 ms
    assert (result["attempts"], result["admitted"]) == (len(server.asked), 0)


def test_what_may_take_for_ever_is_waited_for(serve, write):
    result = play(serve(lambda *_: ("200 OK", 1.5)), write('{ times = ["0s"]; }', f"{{ {STEPS} }}"))
    assert outcomes(result) == only("useful", 1)


def test_closed_loops_think(serve, write):
    server = serve(lambda *_: ("200 OK", 0.05))
    path = write('{ closed = { clients = 2; think = "100ms"; }; }, '
                 '{ closed = { clients = 1; }; count = 3; start = "200ms"; requests = ["once"]; }',
                 f'{{ path = "/"; weight = 1.0; {STEPS} }}, {{ name = "once"; path = "/once"; '
                 f'weight = 0.000001; {STEPS} }}')
    result = play(server, path)
    asked = paths(server)
    assert asked["/once"] == 3
    assert 2 * 3 <= asked["/"] <= 2 * 7  # each 150 ms at most
    assert server.peak <= 3
    assert result["closed"] == 3


def test_a_closed_loop_may_stand_beside_an_open_one(serve, write):
    path = write('{ rate = "20/s"; spacing = "even"; }, { closed = { clients = 1; }; count = 2; }')
    assert outcomes(play(serve(), path)) == only("useful", 22)


@simulated
@pytest.mark.parametrize("series", [[], ["--series"]])
def test_the_columns_are_those_of_the_simulator(serve, write, series):
    server = serve()
    path = write('{ rate = "10/s"; spacing = "even"; }')
    done = load("--target", f"127.0.0.1:{server.port}", "--scenario", path, "--csv", *series)
    row = next(csv.DictReader(io.StringIO(done.stdout)))
    predicted = next(csv.DictReader(io.StringIO(subprocess.run(
        [SLUICE_SIM, "run", path, "--csv", *series], capture_output=True, text=True, timeout=60,
        check=True).stdout)))
    # What only the gate can know, and its reasons, are not the client's to tell.
    gates = {"waiting", "shed", "queue", "age_ms"}
    common = [name for name in predicted if name not in gates and not name.startswith("refused_")]
    assert set(common) - set(row) == set()
    assert {"useful", "late", "unfinished", "p50_ms", "p99_ms", "eff_p95_ms", "eff_p99_ms"} <= set(common)
    assert [row[name] for name in ("offered", "attempts", "admitted", "useful")] == 4 * ["10"]
    assert row.get("t_s") == ("0" if series else None)
    assert 0 < float(row["p50_ms"]) <= float(row["p99_ms"]) == float(row["eff_p99_ms"])


@pytest.mark.parametrize("options, said", [
    (["--rate", "1/s"], "--rate"), (["--path", "/"], "--path"), (["--closed", "1"], "--closed"),
    (["--deadline", "1s"], "--deadline"), (["--attempts", "2"], "--attempts"),
    (["--duration", "1s"], "--duration"), (["--poisson"], "--poisson"),
    (["--set", "arrivals.7.rate=1/s"], "arrivals.7.rate"),
    (["--set", "duration=25h"], "longer than a day")])
def test_what_does_not_go_with_a_scenario_is_told(write, options, said):
    path = write('{ rate = "10/s"; }')
    done = load("--target", "127.0.0.1:9", "--scenario", path, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_mistakes_of_a_scenario_are_told_with_their_line(write):
    path = write('{ rate = "10/s"; }', f'{{ path = "x"; {STEPS} }}')
    assert '"x" as --path' in load("--target", "127.0.0.1:9", "--scenario", path).stderr
    path = write('{ rate = "10"; }')
    done = load("--target", "127.0.0.1:9", "--scenario", path)
    assert done.returncode == 2
    assert f"{path}:5: arrivals[0].rate" in done.stderr
    assert load("--target", "127.0.0.1:9", "--scenario", "/no/such.conf").returncode == 2
    assert "--set" in load("--target", "127.0.0.1:9", "--set", "a=1").stderr
    assert "scenario" in load("find", "--target", "127.0.0.1:9", "--scenario", path).stderr
