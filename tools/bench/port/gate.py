# SPDX-License-Identifier: BSD-3-Clause
"""sluiced between the two devices of a rig, and what it needs to find every packet on a known flow."""
import ipaddress
import json
import os
import pathlib
import subprocess

from rig import MEMORY_MIB, WAIT_MAX_S, until
from testpmd import DESTINATION_PORT, FIRST_DESTINATION, SOURCE, SOURCE_PORT

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")).resolve()
SLUICED = BUILD / "control/plane/sluiced"
SLUICECTL = BUILD / "control/cli/sluicectl"

ADDRESSES_MAX = 1024  # of one service

HOST = """
eal = {{ memory = "{memory}"; memory_mib = {mib}; main = {main}; workers = [{worker}]; idle = "poll";
        extra = "{extra}"; }};
control = {{ socket = "{socket}"; }};
gates = ( {{ name = "port"; outside = ["{outside}"]; inside = ["{inside}"]; }} );
"""

# Every quota is limited, so that each packet is charged, but higher than any rate reached here.
KNOWN_FLOWS = """
flows = {{ max = {flows_max}; udp_idle = "1h"; }};
tenants = ( {{ name = "default"; quota = {{ attempts = "1000000000/s"; packets = "1000000000/s";
                                          bits = "400Gbit/s"; }}; }} );
services = (
{services}
);
"""


def service(name, first, count, port):
    addresses = ", ".join(f'"{ipaddress.ip_address(first + i)}"' for i in range(count))
    return (f'  {{ name = "{name}"; addresses = [{addresses}]; protocol = "udp"; '
            f'ports = ["{port}"]; }}')


def services(flows):
    """What the outside asks for: of `answering`, once a flow; of all others, without an end."""
    found = [service("answering", SOURCE, 1, SOURCE_PORT)]
    for first in range(0, flows, ADDRESSES_MAX):
        found.append(service(f"silent{first}", FIRST_DESTINATION + first,
                             min(ADDRESSES_MAX, flows - first), DESTINATION_PORT))
    return ",\n".join(found)


def known_flows(flows):
    return KNOWN_FLOWS.format(flows_max=4 * flows, services=services(flows))


class Gate:
    def __init__(self, rig, policy):
        """`policy`: all of the configuration that does not depend on the rig."""
        self.rig, self.socket = rig, rig.path("control")
        host = HOST.format(
            memory=rig.memory, mib=MEMORY_MIB, main=rig.generator_cpu, worker=rig.tested_cpu,
            extra=" ".join(rig.gate_memory()), socket=self.socket,
            outside=rig.tested_device("outside"), inside=rig.tested_device("inside"))
        pathlib.Path(rig.path("conf")).write_text(host + policy, encoding="ascii")
        with open(rig.path("log"), "wb") as log:
            self.process = subprocess.Popen([SLUICED, "-c", rig.path("conf")], env=rig.environment(),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            until(self.is_up, "start of sluiced")
        except BaseException:
            self.end()
            raise

    def ask(self, verb):
        return subprocess.run([SLUICECTL, "-s", self.socket, verb, "-j"], capture_output=True,
                              timeout=WAIT_MAX_S, text=True, check=False)

    def log(self):
        return pathlib.Path(self.rig.path("log")).read_text(encoding="utf-8", errors="replace")

    def is_up(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"sluiced ended with {self.process.returncode}:\n{self.log()}")
        return self.ask("status").returncode == 0

    def listing(self, name):
        return json.loads(self.ask(name).stdout)[name]

    def counters(self):
        return self.listing("workers")[0]

    def links_up(self):
        return sum(port["link"] == "up" for port in self.listing("ports"))

    def end(self):
        """Once or more often."""
        self.process.terminate()
        try:
            self.process.wait(WAIT_MAX_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        if self.process.returncode:
            raise RuntimeError(f"sluiced ended with {self.process.returncode}:\n{self.log()}")


def known_share(before, after):
    """Of the packets taken between two looks, the share that was forwarded on a known flow."""
    def change(*path):
        values = [before, after]
        for name in path:
            values = [value[name] for value in values]
        return values[1] - values[0]

    for reason in after["dropped"]:
        if change("dropped", reason):
            raise RuntimeError(f"sluiced dropped {change('dropped', reason)} packets: {reason}")
    return change("passes", "flow") / max(1, change("forwarded"))
