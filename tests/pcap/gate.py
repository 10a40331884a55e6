# SPDX-License-Identifier: BSD-3-Clause
"""
A gate between two files: frames in, frames out, and what the daemon says about them.

`Gate.play()` runs a daemon on net_pcap devices with the clock of the packets, waits until it has
taken every frame, reads its listings and ends it. What must hold of any trace is asserted there:
see check_always().
"""

import collections
import json
import os
import signal
import socket
import struct
import subprocess
import time

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build")
SLUICED = os.environ.get("SLUICED", os.path.join(BUILD, "control/plane/sluiced"))
SLUICECTL = os.environ.get("SLUICECTL", os.path.join(BUILD, "control/cli/sluicectl"))

WORKERS = int(os.environ.get("SLUICE_TEST_WORKERS", "1"))
PLAY_MAX_S = 60  # for a trace to be taken: milliseconds, on a machine that is not overloaded
END_MAX_S = 60
US_PER_S = 1000000


def setting(value):
    """A Python value in libconfig's syntax: lists of groups become lists, others arrays."""
    if isinstance(value, dict):
        return "{ " + " ".join(f"{key} = {setting(v)};" for key, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        groups = all(isinstance(v, dict) for v in value)
        left, right = "()" if groups else "[]"
        return left + ", ".join(setting(v) for v in value) + right
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


class Trace:
    """Frames with times in seconds, for each side."""

    def __init__(self, silent=0):
        """silent: connections that are admitted as such and never ask for anything."""
        self.frames = {"outside": [], "inside": []}
        self.silent = silent

    def outside(self, at, frame):
        """A client sends."""
        self.frames["outside"].append((round(at * US_PER_S), frame))

    def inside(self, at, frame):
        """A service sends."""
        self.frames["inside"].append((round(at * US_PER_S), frame))

    def sorted(self):
        """The same frames in the order of their times; those of one time stay as they are."""
        for frames in self.frames.values():
            frames.sort(key=lambda timed: timed[0])
        return self

    def sent(self, side):
        return [frame for _, frame in self.frames[side]]

    def __len__(self):
        return sum(len(frames) for frames in self.frames.values())


def capture_header():
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


def capture_record(us, frame):
    return struct.pack("<IIII", us // US_PER_S, us % US_PER_S, len(frame), len(frame)) + frame


def write_capture(path, frames):
    with open(path, "wb") as out:
        out.write(capture_header())
        for us, frame in frames:
            out.write(capture_record(us, frame))


def read_capture(path):
    with open(path, "rb") as capture:
        data = capture.read()
    frames, at = [], len(capture_header())
    while at < len(data):
        length = struct.unpack_from("<IIII", data, at)[2]
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


class Result:
    """
    What came of a trace: frames by the side they left on, and the listings at its end. `answers`
    are the gate's own frames to clients, `resets` those to services; `outside` is all that went
    to clients, in its order.
    """

    def __init__(self, trace, listings, captures, exit_code, stderr):
        self.trace, self.exit_code, self.stderr = trace, exit_code, stderr
        to_inside, self.outside = captures
        self.to_inside, self.resets = split_answers(trace.sent("outside"), to_inside)
        self.status = listings["status"]
        self.ports = listings["ports"]["ports"]
        self.workers = listings["workers"]["workers"]
        self.worker = total(self.workers)
        self.tenants = {t["name"]: t for t in listings["tenants"]["tenants"]}
        self.services = {s["name"]: s for s in listings["services"]["services"]}
        self.to_outside, self.answers = split_answers(trace.sent("inside"), self.outside)

    def passes(self):
        """Pass names and counts, without the zeros."""
        return {name: n for name, n in self.worker["passes"].items() if n}

    def drops(self):
        """Drop reasons and counts, without the zeros."""
        return {name: n for name, n in self.worker["dropped"].items() if n}

    def refusals(self, tenant):
        return {name: n for name, n in self.tenants[tenant]["refused"].items() if n}

    def tokens(self, tenant):
        return self.tenants[tenant]["quota"]["attempts"]["tokens"]

    def used(self, service):
        return self.services[service]["window"]["used"]


def total(workers):
    """The counters of all workers as those of one; what counts nothing is left out."""
    sums = {}
    for worker in workers:
        for name, value in worker.items():
            if isinstance(value, dict):
                sums[name] = total([value, sums[name]] if name in sums else [value])
            elif isinstance(value, int):
                sums[name] = sums.get(name, 0) + value
    return sums


def split_answers(received, sent):
    """Parts what left on a side into frames that had come on the other, and the gate's own."""
    left, forwarded, answers = collections.Counter(received), [], []
    for frame in sent:
        (forwarded if left[frame] > 0 else answers).append(frame)
        left[frame] -= 1
    return forwarded, answers


def is_in_order(frames, received):
    """Are they some of those received, in their order?"""
    rest = iter(received)
    return all(frame in rest for frame in frames)


def check_balance(worker):
    """Invariant 1: every packet that came in, or was made, went somewhere, and is counted once."""
    assert worker["received"] + worker["handed_in"] + worker["made"] == (
        worker["forwarded"] + sum(worker["dropped"].values()) + worker["answered"] +
        worker["tx_failed"] + worker["handed_out"] + worker["handoff_failed"] + worker["held"])
    assert sum(worker["passes"].values()) == worker["forwarded"]


def check_windows(result):
    """Invariant 2: what windows say is used is what flows hold; never negative, never too much."""
    for owners in (result.tenants, result.services):
        used = 0
        for owner in owners.values():
            window = owner["window"]
            limit = 16777216 if window["limit"] == "unlimited" else window["limit"]
            assert 0 <= window["used"] <= limit + window["debt"], owner["name"]
            assert window["used"] <= window["peak"]
            used += window["used"]
        assert used == result.worker["slots"]


def check_tokens(result):
    """Invariant 3."""
    for tenant in result.tenants.values():
        attempts = tenant["quota"]["attempts"]
        if "tokens" in attempts:
            assert 0 <= attempts["tokens"] <= attempts["burst"] + 1, tenant["name"]


def check_attempts(result):
    """Nobody is forgotten: who is neither admitted nor refused waits, left, or has not asked."""
    pending = 0
    for tenant in result.tenants.values():
        pending += (tenant["attempts"] - tenant["admitted"] - tenant["cancelled"] -
                    sum(tenant["refused"].values()))
    assert pending == result.worker["held"] + result.trace.silent
    for owner in (*result.tenants.values(), *result.services.values()):
        assert owner["attempts"] >= owner["admitted"] + sum(owner["refused"].values())
        assert owner["attempt_packets"] >= owner["attempts"]


def check_frames(result):
    """Invariant 4: what is forwarded is what was received, byte for byte, and in its order."""
    received = {side: len(result.trace.sent(side)) for side in ("outside", "inside")}
    made, held = result.worker["made"], result.worker["held"]
    assert is_in_order(result.to_outside, result.trace.sent("inside"))
    if not any(tenant["waited"] for tenant in result.tenants.values()):
        assert is_in_order(result.to_inside, result.trace.sent("outside"))
    assert len(result.to_inside) + len(result.to_outside) == result.worker["forwarded"]
    # The listings are older than the end, at which whoever still waits is answered.
    assert len(result.answers) == result.worker["answered"] - made + held
    assert made <= len(result.resets) <= made + held
    for port in result.ports:
        assert port["rx_packets"] == received[port["side"]]


def check_always(result):
    assert result.exit_code == 0, result.stderr
    for words in ("AddressSanitizer", "runtime error", "LeakSanitizer"):
        assert words not in result.stderr, result.stderr
    assert result.worker["received"] == len(result.trace)
    assert result.worker["tx_failed"] == 0
    for worker in result.workers:
        check_balance(worker)
    assert result.worker["handed_in"] == result.worker["handed_out"]
    assert result.worker["handoff_failed"] == 0
    check_windows(result)
    check_tokens(result)
    check_attempts(result)
    check_frames(result)


class Gate:
    """A configuration, and a folder for the files of its daemons."""

    def __init__(self, folder, tenants, services, gate=None, flows=None):
        self.folder = str(folder)
        self.socket = self.path("socket")
        sides = {side: [f"net_pcap{i},rx_pcap={self.path(side + '.in')},"
                        f"tx_pcap={self.path(side + '.out')}"]
                 for i, side in enumerate(("outside", "inside"))}
        if "default" not in [tenant["name"] for tenant in tenants]:
            tenants = [{"name": "default"}, *tenants]
        self.settings = {
            "eal": {"memory": "none", "memory_mib": 256, "main": 0,
                    # more workers than this has CPUs take turns
                    "workers": [i % 2 for i in range(1, WORKERS + 1)],
                    "idle": "sleep", "clock": "packets"},
            "control": {"socket": self.socket, "period": "50ms"},
            "gates": [{"name": "front", **sides, **(gate or {})}],
            "flows": {"max": 4096, **(flows or {})},
            "tenants": tenants,
            "services": services,
        }
        self.daemon = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def ask(self, line):
        """One request to the control socket."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PLAY_MAX_S)
            client.connect(self.socket)
            client.sendall(line.encode() + b"\n")
            answer = b""
            while more := client.recv(65536):
                answer += more
        return json.loads(answer)

    def ctl(self, *words):
        done = subprocess.run([SLUICECTL, "--socket", self.socket, *words, "-j"], text=True,
                              capture_output=True, timeout=PLAY_MAX_S, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self):
        with open(self.path("conf"), "w", encoding="ascii") as conf:
            conf.write("".join(f"{k} = {setting(v)};\n" for k, v in self.settings.items()))
        with open(self.path("stderr"), "w", encoding="ascii") as stderr:
            self.daemon = subprocess.Popen([SLUICED, "-c", self.path("conf")],
                                           stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)

    def stderr(self):
        with open(self.path("stderr"), encoding="utf-8", errors="replace") as stderr:
            return stderr.read()

    def wait_for(self, packets):
        """Until the worker has taken so many packets, and has let them go again."""
        deadline = time.monotonic() + PLAY_MAX_S
        while time.monotonic() < deadline and self.daemon.poll() is None:
            try:
                worker = total(self.ask("workers")["workers"])
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.01)
                continue
            settled = (worker["forwarded"] + sum(worker["dropped"].values()) +
                       worker["answered"] + worker["tx_failed"] + worker["held"] -
                       worker["made"])
            if worker["received"] >= packets and settled >= packets:
                return
            self.ask("tenants")  # looking at buckets must not move them
            time.sleep(0.005)
        raise AssertionError(f"the trace was not taken: {self.stderr()}")

    def end(self):
        self.daemon.send_signal(signal.SIGTERM)
        try:
            return self.daemon.wait(END_MAX_S)
        finally:
            self.kill()

    def kill(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()

    def finish(self, trace):
        self.wait_for(len(trace))
        listings = {verb: self.ctl(verb)
                    for verb in ("status", "tenants", "services", "workers", "ports")}
        exit_code = self.end()
        captures = [read_capture(self.path(f"{side}.out")) for side in ("inside", "outside")]
        result = Result(trace, listings, captures, exit_code, self.stderr())
        check_always(result)
        return result

    def play(self, trace):
        """The whole trace at once."""
        for side, frames in trace.frames.items():
            write_capture(self.path(f"{side}.in"), frames)
        try:
            self.start()
            return self.finish(trace)
        finally:
            self.kill()

    def play_in_parts(self, parts):
        """
        Plays what clients send in parts, each a function that is given the trace to add to and may
        then speak to the live daemon. The outside device reads from a pipe, and waits for more.
        """
        trace, pipe = Trace(), self.path("outside.in")
        os.mkfifo(pipe)
        write_capture(self.path("inside.in"), [])
        try:
            self.start()
            # Opened for both, a pipe neither waits for its reader nor breaks without it.
            with open(pipe, "r+b", buffering=0) as out:
                out.write(capture_header())
                for part in parts:
                    before = len(trace)
                    part(trace)
                    for us, frame in trace.frames["outside"][before:]:
                        out.write(capture_record(us, frame))
                    self.wait_for(len(trace))
            return self.finish(trace)
        finally:
            self.kill()
