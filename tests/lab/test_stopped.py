# SPDX-License-Identifier: BSD-3-Clause
"""One worker thread of a daemon at work stops, as under a debugger, and goes on later."""

import ctypes
import os
import pathlib
import signal
import threading
import time

import pytest
from scapy.all import IP, TCP, Ether, raw

import wire
from lab import until

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000

# The third has no queue of its own to poll or to send to: what is its business comes by hand.
SLEEPING = 'workers = [1, 1, 1]; idle = "sleep";'
POLLING = 'workers = [1, 1, 1]; idle = "poll";'  # who sleeps has no hold on a policy
HELD_UP, HELD_UP_CPU = 2, 1
DEAD_S, GIVE_UP_S = 1, 5
RETIRED_MAX = 8  # policies that may wait for a worker

RATE, BURST = 100000, 98304  # bytes; leased by the frame from 16 frames a worker on
BITS = f'quota = {{ bits = "{8 * RATE}bit/s"; bits_burst = "{BURST}B"; }};'
PAYLOAD_BYTES = 960  # 1000 with both headers


class Stopped:
    """The worker's thread, stopped by this thread until go_on(), at the latest when it leaves."""

    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long

    def __init__(self, lab, worker):
        tasks = pathlib.Path(f"/proc/{lab.daemon.pid}/task")
        lcore = f"-worker-{worker + 1}"
        [self.tid] = [int(task.name) for task in tasks.iterdir()
                      if (task / "comm").read_text().strip().endswith(lcore)]
        try:
            self.trace(PTRACE_SEIZE)
        except PermissionError:
            pytest.skip("ptrace of a child is not permitted here")
        self.trace(PTRACE_INTERRUPT)
        os.waitpid(self.tid, WALL)
        self.stopped = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.stopped:
            self.go_on()

    def trace(self, request):
        if self.libc.ptrace(request, self.tid, None, None):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))

    def go_on(self):
        self.stopped = False
        self.trace(PTRACE_DETACH)

    def is_gone(self):
        """Ended while it was stopped; until its tracer knows, the process is not over either."""
        if self.stopped and os.waitpid(self.tid, WALL | os.WNOHANG)[0]:
            self.stopped = False
        return not self.stopped


class Flood:
    """Ten times the quota of acme in a thread, over flows that belong to all workers."""

    def __init__(self, lab):
        self.sender, self.stopping, self.sent = wire.Sender(lab, "clients", "c0"), False, 0
        head = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.1.0.1",
                                                                              dst="10.9.0.10")
        self.frames = [raw(head / TCP(sport=port, dport=80, flags="A") / bytes(PAYLOAD_BYTES))
                       for port in range(20000, 20100)]
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def run(self):
        while not self.stopping:
            for frame in self.frames[:10]:
                self.sender.send(frame)
            self.frames = self.frames[10:] + self.frames[:10]
            self.sent += 10
            time.sleep(0.01)

    def stop(self):
        self.stopping = True
        self.thread.join()
        self.sender.close()


def workers(lab):
    return lab.ask("workers")["workers"]


def set_window(lab, window):
    return lab.ask(f"set tenant acme window={window}")


def get_page(lab):
    with wire.connect(lab, "10.2.0.1", 80) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


def check_held_up(lab, seen):
    """While the worker stands still; `seen` is the listing of before. The last epoch."""
    # The others go on; for the one its ring fills, and what is beyond it is counted.
    assert until(30, lambda: workers(lab)[0]["handoff_failed"] > 0)
    assert workers(lab)[HELD_UP]["handed_in"] == seen[HELD_UP]["handed_in"]
    # It may use any policy since it stopped, so there is an end to new ones; to nothing else.
    old = seen[HELD_UP]["policy_epoch"]
    epochs = [set_window(lab, 100 + i)["epoch"] for i in range(RETIRED_MAX)]
    refused = set_window(lab, 7)
    assert refused["error"]["code"] == "busy"
    assert "workers still hold older policies" in refused["error"]["message"]
    assert lab.tenant("acme")["window"]["limit"] == 100 + RETIRED_MAX - 1
    assert until(5, lambda: [w["policy_epoch"] for w in workers(lab)] ==
                 [epochs[-1], epochs[-1], old])
    return epochs[-1]


def check_back(lab, seen, epoch):
    assert until(5, lambda: set_window(lab, 7).get("epoch") == epoch + 1)
    assert until(5, lambda: workers(lab)[HELD_UP]["policy_epoch"] == epoch + 1)
    assert until(5, lambda: workers(lab)[HELD_UP]["handed_in"] > seen[HELD_UP]["handed_in"])


def test_a_stopped_worker_holds_up_nobody_else(make_lab):
    lab = make_lab(BITS, workers=POLLING)
    start = time.monotonic()
    with Flood(lab) as flood:
        assert until(10, lambda: lab.tenant("acme")["dropped"]["bits"] > 100)
        with Stopped(lab, HELD_UP) as held_up:
            seen, before = workers(lab), lab.tenant("acme")["bytes"]["in"]
            time.sleep(2 * DEAD_S)
            passed = lab.tenant("acme")["bytes"]["in"] - before
            assert passed >= 0.8 * RATE * 2 * DEAD_S
            epoch = check_held_up(lab, seen)
            held_up.go_on()
            check_back(lab, seen, epoch)
    lab.check_packets()
    passed, span_s = lab.tenant("acme")["bytes"]["in"], time.monotonic() - start
    print(f"{passed} bytes of {1000 * flood.sent} in {span_s:.3f} s, at most "
          f"{BURST + RATE * span_s:.0f}")
    assert 0.8 * RATE * span_s <= passed <= BURST + RATE * span_s
    get_page(lab)


def test_sigterm_waits_for_a_stopped_worker_but_not_for_ever(make_lab):
    lab = make_lab(workers=SLEEPING)
    with Stopped(lab, HELD_UP) as held_up:
        lab.daemon.signal(signal.SIGTERM)
        time.sleep(DEAD_S)
        assert not lab.daemon.ended()
        held_up.go_on()
        assert lab.daemon.wait(GIVE_UP_S) == 0

    lab.restart()
    with Stopped(lab, HELD_UP) as held_up:
        lab.daemon.signal(signal.SIGTERM)
        assert until(3 * GIVE_UP_S, held_up.is_gone)
        assert lab.daemon.wait(GIVE_UP_S) == 1
    assert not lab.socket.exists()
    assert (f"sluiced: worker {HELD_UP} (CPU {HELD_UP_CPU}) does not stop: "
            f"no sign of life for {GIVE_UP_S} s\n") in (lab.folder / "sluiced.log").read_text()
    lab.restart()
    get_page(lab)
