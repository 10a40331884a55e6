# SPDX-License-Identifier: BSD-3-Clause
"""
Who races: each stands behind a pair of veths of its own, drops SYNs, and says how many it dropped.

A rival that this machine does not let start raises Unavailable with what its tool said.
"""
import ipaddress
import json
import pathlib
import subprocess

FIRST = int(ipaddress.IPv4Address("10.0.0.0"))
STEP = 2  # neighbours would make a single range, for who knows ranges
MAC = "02:00:00:00:00:02"  # to whom the frames of the source are addressed
ETHTOOL_DROPS = "rx_queue_0_xdp_drops"


class Unavailable(Exception):
    """This machine cannot do it; says why."""


def call(*command, text=None):
    """What a tool says; RuntimeError if it fails."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as why:
        raise Unavailable(f"{command[0]} is not installed") from why
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, command[:4]))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def addresses(count):
    return [str(ipaddress.IPv4Address(FIRST + n * STEP)) for n in range(count)]


class Rival:
    """One pair of veths: frames go into `source`, and are dropped behind `device`."""
    name = None

    def __init__(self, number, sources, build):
        self.sources, self.build = sources, build
        self.source, self.device = f"s{number}", f"d{number}"
        call("ip", "link", "add", self.source, "type", "veth", "peer", "name", self.device)
        call("ip", "link", "set", self.device, "address", MAC)
        for device in (self.source, self.device):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1", encoding="ascii")
            call("ip", "link", "set", device, "up")
        self.start()

    def start(self):
        """Takes its place on `device`."""

    def drops(self):
        """How many packets it has dropped so far."""
        for line in call("ethtool", "-S", self.device).splitlines():
            name, _, value = line.strip().partition(": ")
            if name == ETHTOOL_DROPS:
                return int(value)
        raise RuntimeError(f"ethtool -S {self.device} shows no {ETHTOOL_DROPS}")

    def received(self):
        """How many frames came out of its veth so far."""
        link, = json.loads(call("ip", "-j", "-s", "link", "show", "dev", self.device))
        return link["stats64"]["rx"]["packets"]


class Noop(Rival):
    """The least: a program that drops everything."""
    name = "xdp_drop"

    def start(self):
        call("ip", "link", "set", self.device, "xdpdrv", "obj",
             str(self.build / "tools/bench/xdp/targets.bpf.o"), "program", "target_noop")


class Deny(Rival):
    """Ours, as the workers' stand-in: every source is on the deny list."""
    name = "sluice_deny"

    def start(self):
        call(self.build / "tools/bench/xdp/sluice-xdp-attach", self.name.removeprefix("sluice_"),
             self.device, str(self.sources), str(FIRST), str(STEP))


class Quota(Deny):
    """Ours: every source is a tenant, and may make one attempt a second."""
    name = "sluice_quota"


class XdpFilter(Rival):
    """xdp-filter of xdp-tools, with its object for IPv4 addresses, every source listed."""
    name = "xdp_filter"

    def start(self):
        call("xdp-filter", "load", "--mode", "native", "--features", "ipv4", self.device)
        for address in addresses(self.sources):
            call("xdp-filter", "ip", address, "--mode", "src")


class Skb(Rival):
    """Of those who want skbs: a veth without XDP takes frames only with GRO."""

    def start(self):
        call("ethtool", "-K", self.device, "gro", "on")
        self.rules()

    def rules(self):
        raise NotImplementedError


class Nft(Skb):
    """A chain of its own at netdev ingress."""
    match = None
    set_options = None

    def rules(self):
        call("nft", "-f", "-", text="\n".join([
            f"table netdev {self.name} {{", " set sources {", "  type ipv4_addr",
            *self.set_options(), " }", " chain in {",
            f"  type filter hook ingress device {self.device} priority -500; policy accept;",
            f"  {self.match} counter drop", " }", "}", ""]))

    def drops(self):
        listed = json.loads(call("nft", "-j", "list", "chain", "netdev", self.name, "in"))
        rule = next(entry["rule"] for entry in listed["nftables"] if "rule" in entry)
        return next(e["counter"]["packets"] for e in rule["expr"] if "counter" in e)


class NftSet(Nft):
    """A set of addresses, every source in it."""
    name = "nft_set"
    match = "ip saddr @sources"

    def set_options(self):
        return [f"  elements = {{ {', '.join(addresses(self.sources))} }}"]


class NftLimit(Nft):
    """A limit for each source."""
    name = "nft_limit"
    match = "update @sources { ip saddr limit rate over 1/second burst 1 packets }"

    def set_options(self):
        return ["  flags dynamic", "  size 65536"]


class Hashlimit(Skb):
    """iptables' limit for each source, in the raw table, before connection tracking."""
    name = "hashlimit_nft"
    tool = "iptables-nft"

    def rules(self):
        call(self.tool, "-t", "raw", "-A", "PREROUTING", "-i", self.device, "-m", "hashlimit",
             "--hashlimit-above", "1/sec", "--hashlimit-burst", "1", "--hashlimit-mode", "srcip",
             "--hashlimit-htable-size", "65536", "--hashlimit-htable-max", "65536",
             "--hashlimit-name", self.name, "-j", "DROP")

    def drops(self):
        lines = call(self.tool, "-t", "raw", "-L", "PREROUTING", "-v", "-x", "-n").splitlines()
        return next(int(line.split()[0]) for line in lines if self.device in line.split())


class HashlimitLegacy(Hashlimit):
    """The same through the older half of the kernel."""
    name = "hashlimit_legacy"
    tool = "iptables-legacy"


RIVALS = [Noop, Deny, Quota, XdpFilter, NftSet, NftLimit, Hashlimit, HashlimitLegacy]
