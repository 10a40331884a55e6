# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-testpmd at both sides of the gate: clients that shake hands and then flood, and a sink."""
import re
import time

import mix
from rig import SIDES, until
from testpmd import Testpmd, write_capture

OUTSIDE, INSIDE, SYNS, SYN_ACKS, ACKS, MIX, SINK, OTHER_SINK = range(8)  # its ports

# What testpmd's "noisy" mode reads at random, so many times for each packet: it is a pace.
READS_MIB = 1
LOOKS = 5


class FloodGenerator(Testpmd):
    """`reads`: a pace; 0: as fast as it can."""

    def __init__(self, rig, reads):
        self.mode = "noisy" if reads else "io"
        captures = {"syns": mix.syns(mix.GUESTS, mix.FLOWS), "syn_acks": mix.syn_acks(),
                    "acks": mix.acks(), "mix": mix.mix()}
        devices = [rig.generator_device(side) for side in SIDES]
        for i, (name, frames) in enumerate(captures.items()):
            write_capture(rig.path(name), frames)
            devices.append(f"net_pcap{i},rx_pcap={rig.path(name)},infinite_rx=1")
        super().__init__(rig, "flood", rig.generator_cpu,
                         [*devices, "net_null0,no-rx=1", "net_null1,no-rx=1"],
                         ["--total-num-mbufs=32768", f"--noisy-lkup-memory={READS_MIB}",
                          f"--noisy-lkup-num-reads={reads}"])

    def count(self, port, what):
        """Packets of a port since the start: "RX" or "TX"."""
        return int(re.search(rf"{what}-packets:\s+(\d+)",
                             self.ask(f"show port stats {port}")).group(1))

    def forward(self, mode, *ports):
        """Ports two by two: what comes from one is sent to the other."""
        for line in ("set fwd " + mode, "set portlist " + ",".join(map(str, ports)), "start"):
            self.ask(line)

    def take_back(self):
        """Sends nothing, but takes what is on its way."""
        self.forward("io", OUTSIDE, SINK, INSIDE, OTHER_SINK)

    def shake_hands(self, service):
        """
        Each packet of a handshake again and again, until the gate has seen it of all flows: a first
        burst may be lost. `service`: what the gate says of the service.
        """
        until(lambda: self.links_up() == len(SIDES), "links of the generator")
        steps = ((SYNS, OUTSIDE, INSIDE, lambda now: now["window"]["used"] == mix.FLOWS),
                 (SYN_ACKS, INSIDE, OUTSIDE,
                  lambda now: now["latency"]["connect"]["count"] == mix.FLOWS),
                 (ACKS, OUTSIDE, INSIDE, lambda now: now["connections"]["opening"] == 0))
        for source, sent_by, goes_to, is_done in steps:
            self.forward("io", source, sent_by, goes_to, SINK)
            until(lambda done=is_done: done(service()), "handshakes")
            self.ask("stop")

    def flood(self, seconds, look):
        """Sends for so long. What it had ready, how long it took, what it saw in LOOKS looks."""
        ready = self.count(MIX, "RX")
        self.forward(self.mode, OUTSIDE, MIX, INSIDE, SINK)
        start, seen = time.monotonic(), []
        for number in range(1, LOOKS + 1):
            time.sleep(max(0, start + number * seconds / (LOOKS + 1) - time.monotonic()))
            seen.append(look())
        time.sleep(max(0, start + seconds - time.monotonic()))
        self.ask("stop")
        elapsed = time.monotonic() - start
        return self.count(MIX, "RX") - ready, elapsed, seen
