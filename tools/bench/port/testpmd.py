# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-testpmd under its prompt: as the forwarder to compare with, and as the generator."""
import os
import re
import selectors
import struct
import subprocess
import time

from rig import MEMORY_MIB, SIDES, WAIT_MAX_S, until

PROMPT = b"testpmd> "

# What testpmd's flowgen sends, on every port: UDP from one address to FLOWS addresses in a row.
SOURCE, SOURCE_PORT = (10 << 24) + (254 << 16), 1000
FIRST_DESTINATION, DESTINATION_PORT = (10 << 24) + (253 << 16), 1001
FLOWS_MAX = SOURCE - FIRST_DESTINATION


class Testpmd:
    """One process. Its main thread sleeps at the prompt, on the other's CPU."""

    def __init__(self, rig, name, cpu, devices, options=()):
        other = rig.generator_cpu + rig.tested_cpu - cpu
        command = ["stdbuf", "-oL", "dpdk-testpmd", f"--file-prefix={name}", "--no-pci",
                   "--no-telemetry", "--log-level=*:warning", f"--lcores=0@{other},1@{cpu}",
                   "-n", "1", "-m", str(MEMORY_MIB), *rig.eal_memory(),
                   *(f"--vdev={device}" for device in devices), "--",
                   "-i", "--disable-link-check", "--no-lsc-interrupt", "--no-flush-rx",
                   "--nb-cores=1", "--total-num-mbufs=16384", *options]
        self.name, self.said = name, b""
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=rig.environment())
        os.set_blocking(self.process.stdout.fileno(), False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.read_to_prompt()

    def read_to_prompt(self):
        answer, deadline = b"", time.monotonic() + WAIT_MAX_S
        while not answer.endswith(PROMPT):
            if not self.selector.select(max(0, deadline - time.monotonic())):
                raise RuntimeError(f"{self.name} did not come back:\n{answer.decode()}")
            more = self.process.stdout.read()
            if not more:
                raise RuntimeError(f"{self.name} ended:\n{answer.decode()}")
            answer += more
        return answer.decode(errors="replace")

    def ask(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.read_to_prompt()

    def links_up(self):
        """How many of its memif, vhost and virtio_user ports have a peer, as far as they know."""
        return len(re.findall(r"^\d+ .* net_(?:memif|v)\S* +up ",
                              self.ask("show port summary all"), re.MULTILINE))

    def end(self):
        """Quits it, if it still runs; what does not quit in time is killed."""
        try:
            if not self.process.stdin.closed:
                self.process.communicate(b"quit\n", timeout=WAIT_MAX_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


class Macswap(Testpmd):
    """Each packet of a port goes out of the other, its MAC addresses exchanged."""

    def __init__(self, rig):
        super().__init__(rig, "macswap", rig.tested_cpu, [rig.tested_device(s) for s in SIDES],
                         ["--forward-mode=macswap", "--auto-start"])

    def counters(self):
        return None


def datagram(number):
    """What asks `SOURCE` for the packets that flowgen sends it on flow `number`."""
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 46, 0, 0, 64, 17, 0, FIRST_DESTINATION + number, SOURCE)
    udp = struct.pack("!HHHH", DESTINATION_PORT, SOURCE_PORT, 26, 0)
    return bytes(12) + b"\x08\x00" + ip + udp + bytes(18)


def write_capture(path, frames):
    with open(path, "wb") as capture:
        capture.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            capture.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


class Generator(Testpmd):
    """
    Sends to both sides and counts what comes back. Port 2 is a file of requests, one for each flow
    that the inside port is going to answer.
    """

    def __init__(self, rig, flows):
        requests = rig.path("requests.pcap")
        write_capture(requests, map(datagram, range(flows)))
        self.flows = flows
        super().__init__(rig, "generator", rig.generator_cpu,
                         [rig.generator_device(s) for s in SIDES] +
                         [f"net_pcap0,rx_pcap={requests},tx_pcap=/dev/null"],
                         [f"--flowgen-flows={flows}"])

    def sent_requests(self):
        sent = re.search(r"TX-packets:\s+(\d+)", self.ask("show port stats 0"))
        return int(sent.group(1)) >= self.flows

    def start(self):
        """First the requests, then packets of the same flows and of others, as many as can be."""
        until(lambda: self.links_up() == len(SIDES), "links of the generator")
        self.ask("set burst tx delay 10 retry 100000")
        for line in ("set portlist 2,0", "set fwd io retry", "start"):
            self.ask(line)
        until(self.sent_requests, "sending of the requests")
        for line in ("stop", "set portlist 0,1", "set fwd flowgen", "start"):
            self.ask(line)

    def stop(self):
        """Leaves the ports alone, so that the other end may go away."""
        self.ask("stop")

    def offered(self):
        """Packets that it had ready, and how many of them found no room in the ring."""
        said = self.ask("show fwd stats all")
        return [int(re.findall(rf"TX-{what}:\s+(\d+)", said)[-1]) for what in ("total", "dropped")]

    def returned_pps(self):
        """Since the last call, by the clock of the process that counts."""
        return sum(map(int, re.findall(r"Rx-pps:\s+(\d+)", self.ask("show port stats all"))))

    def measure(self, seconds):
        """Packets a second that came back, and the share of its own that found no room."""
        total, dropped = self.offered()
        returned, deadline = 0, time.monotonic() + WAIT_MAX_S
        self.returned_pps()
        # On a crowded machine both ends may not have run in all the time.
        while not returned and time.monotonic() < deadline:
            time.sleep(seconds)
            returned = self.returned_pps()
        total_after, dropped_after = self.offered()
        return returned, (dropped_after - dropped) / max(1, total_after - total)
