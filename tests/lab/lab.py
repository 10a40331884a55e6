# SPDX-License-Identifier: BSD-3-Clause
"""
A lab of tools/lab with a configuration of its own, its daemons, and what must hold of any of them.

The test process adopts what the lab's script leaves running, so that it sees every exit code.
"""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")).resolve()
SCRIPT = ROOT / "tools/lab/lab"
SLUICED = BUILD / "control/plane/sluiced"
SLUICECTL = BUILD / "control/cli/sluicectl"
SLUICE_LOAD = BUILD / "tools/load/sluice-load"
PROGRAMS = [SLUICED, SLUICECTL, SLUICE_LOAD, BUILD / "tools/lab/sluice-lab-backend",
            BUILD / "tools/lab/sluice-lab-wire"]

SERVICE = "10.9.0.10"
UP_MAX_S = 60
END_MAX_S = 2  # of a daemon, from SIGTERM to its exit
SETTLE_MAX_S = 15  # longer than every timeout in CONFIG

CONFIG = """
eal = {{ memory = "none"; memory_mib = 256; main = 0; {workers} }};
control = {{ socket = "@SOCKET@"; period = "50ms"; pins = "@PINS@"; }};
gates = ( {{ name = "front"; outside = ["@OUTSIDE@"]; inside = ["@INSIDE@"]; @XDP@ }} );
flows = {{ max = 16384; embryonic = "2s"; tcp_idle = "10s"; udp_idle = "5s"; fin = "1s";
          linger = "500ms"; }};
tenants = (
  {{ name = "default"; class = "bulk"; }},
  {{ name = "acme"; prefixes = ["10.1.0.0/16"]; {acme} }},
  {{ name = "globex"; prefixes = ["10.2.0.0/16"]; {globex} }}
);
services = (
  {{ name = "web"; addresses = ["10.9.0.10"]; protocol = "tcp"; ports = ["80", "8081", "8090"];
    {service} }}
);
"""
UNBOUNDED = 'unit = "connection"; window = 4096; refuse = "rst";'


def config(acme="", workers='workers = [1]; idle = "sleep";', service=UNBOUNDED, globex=""):
    """Two tenants, without a limit but for what is said of them."""
    return CONFIG.format(acme=acme, globex=globex, workers=workers, service=service)


class Unavailable(Exception):
    """The lab's devices are not to be had here; says what their driver said."""


def until(seconds, condition, every=0.05):
    """Does the condition come true in time?"""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


class Daemon:
    """A process that is a child of this one, by birth or by adoption."""

    def __init__(self, pid):
        self.pid = pid
        self.code = None  # exit code, or minus the signal that ended it

    def ended(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds):
        """Its exit code; None: it runs still."""
        until(seconds, self.ended, every=0.01)
        return self.code

    def signal(self, number):
        if not self.ended():
            os.kill(self.pid, number)


class Load:
    """A run of sluice-load."""

    def __init__(self, process):
        self.process = process

    def result(self):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return json.loads(out)


class Lab:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.state = pathlib.Path(f"/run/{name}-lab")
        self.socket = self.state / "sluice.sock"
        self.daemon = None  # the one that serves the gate
        self.processes = {}  # the others, by name
        self.loads = []

    # -- up and down --

    def script(self, *words, check=True):
        done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, timeout=UP_MAX_S,
                              env=dict(os.environ, SLUICE_LAB=self.name, SLUICE_BUILD=str(BUILD)))
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def up(self, text, port="af_packet", *more):
        path = self.folder / "gate.conf"
        path.write_text(text)
        done = self.script("up", "--port", port, "--config", str(path), *more, check=False)
        if "did not come up (lines of its driver above say why)" in done.stderr:
            raise Unavailable(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
        return self.adopt()

    def up_without(self, *more):
        """A bridge in place of the daemon."""
        self.script("up", "--without", *more)
        return self.adopt()

    def adopt(self):
        self.processes = {what: Daemon(int(pid)) for what, pid in re.findall(
            r"process=(\w+) pid=(\d+) running", self.script("status").stdout)}
        self.daemon = self.processes.pop("sluiced", None)
        return self

    def down(self):
        """Takes everything away, whatever state it is in."""
        for load in self.loads:
            load.process.kill()
            load.process.communicate()
        if self.daemon:
            self.daemon.signal(signal.SIGKILL)
            self.daemon.wait(5)
        self.script("down")
        for process in self.processes.values():
            assert process.wait(5) is not None
        left = [path for path in pathlib.Path("/run/netns").glob(f"{self.name}-*")]
        assert not self.state.exists() and not left

    # -- namespaces --

    def namespace(self, where):
        return self.name + {"clients": "-cl", "distance": "-di", "gateway": "-gw",
                            "inside": "-sv"}[where]

    def command(self, where, *words):
        return ["nsenter", f"--net=/run/netns/{self.namespace(where)}", *map(str, words)]

    def run(self, where, *words):
        return subprocess.run(self.command(where, *words), capture_output=True, text=True,
                              timeout=20, check=True).stdout

    def load(self, **options):
        """An option that takes no value is True."""
        words = [word for key, value in options.items()
                 for word in (f"--{key.replace('_', '-')}", value) if word is not True]
        process = subprocess.Popen(self.command("clients", SLUICE_LOAD, *words, "--json"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.loads.append(Load(process))
        return self.loads[-1]

    def backend(self):
        return json.loads(self.script("stats").stdout)

    def backend_reset(self):
        self.script("stats", "reset")

    def backend_peak(self, prefix):
        """Connections between accept and close that the service had at once."""
        return {p["prefix"]: p["peak"] for p in self.backend()["prefixes"]}.get(prefix, 0)

    # -- daemons --

    def start(self, path=None, under=()):
        """A daemon on the gate, as the lab started its own, by the command `under` if one is given;
        not waited for."""
        with open(self.folder / "sluiced.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(
                self.command("gateway", *under, SLUICED, "-c",
                             path or self.state / "sluice.conf"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        process.returncode = 0  # Daemon waits for it
        return Daemon(process.pid)

    def restart(self):
        self.daemon = self.start()
        assert until(20, lambda: self.daemon.ended() or self.answers()), "no answer"
        assert self.daemon.code is None, (self.folder / "sluiced.log").read_text()

    def stop(self):
        """Its exit code after SIGTERM, None if it did not end in time."""
        self.daemon.signal(signal.SIGTERM)
        return self.daemon.wait(END_MAX_S)

    # -- what a daemon says --

    def ask(self, words):
        """One question over the control socket, without the cost of a process."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.socket))
            connection.sendall(words.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                piece = connection.recv(65536)
                assert piece, f"answer cut short: {answer}"
                answer += piece
        return json.loads(answer)

    def answers(self):
        try:
            return self.ask("status")["version"] == 1
        except (ConnectionError, FileNotFoundError, TimeoutError):  # the last: it is still starting
            return False

    def ctl(self, *words):
        return subprocess.run([SLUICECTL, "-s", self.socket, *words], capture_output=True,
                              text=True, timeout=20, check=True)

    def tenant(self, name):
        return self.ask(f"tenants {name}")["tenants"][0]

    def service(self):
        return self.ask("services web")["services"][0]

    def worker(self):
        return self.ask("workers")["workers"][0]

    def malformed(self):
        return {reason: n for reason, n in self.worker()["dropped"].items()
                if reason.startswith("malformed") and n}

    # -- what holds at the end of any test --

    def slots(self):
        """Slots in use as the worker, the service and the tenants have it."""
        return (sum(w["slots"] for w in self.ask("workers")["workers"]),
                sum(s["window"]["used"] for s in self.ask("services")["services"]),
                sum(t["window"]["used"] for t in self.ask("tenants")["tenants"]))

    def check_packets(self):
        """Invariant 1: what came in went somewhere. Exact when no packet passes meanwhile."""
        def difference():
            return [w["received"] + w["handed_in"] + w["made"] - w["forwarded"] -
                    sum(w["dropped"].values()) - w["answered"] - w["tx_failed"] - w["handed_out"] -
                    w["handoff_failed"] - w["held"] for w in self.ask("workers")["workers"]]

        assert until(2, lambda: not any(difference())), (difference(), self.ask("workers"))
        assert all(sum(w["passes"].values()) == w["forwarded"]
                   for w in self.ask("workers")["workers"])

    def check_slots(self):
        """Invariant 2: no slot is lost, none is left when all work has ended."""
        def agree():
            return len(set(self.slots())) == 1

        assert until(2, agree), self.slots()
        assert until(SETTLE_MAX_S, lambda: self.slots() == (0, 0, 0)), self.slots()

    def check_attempts(self):
        """Every attempt was admitted, refused or given up, and both listings tell the same."""
        tenants, services = self.ask("tenants")["tenants"], self.ask("services")["services"]
        for one in tenants + services:
            assert one["attempts"] == (one["admitted"] + sum(one["refused"].values()) +
                                       one["cancelled"]), one
        for count in ("attempts", "attempt_packets", "admitted", "adopted", "offered", "waited",
                      "cancelled", "useful", "late", "unfinished"):
            assert sum(t[count] for t in tenants) == sum(s[count] for s in services), count

    def check_always(self):
        self.check_slots()
        self.check_packets()
        self.check_attempts()
        assert self.stop() == 0, "the daemon did not end as it should"
        assert not self.socket.exists()
