# SPDX-License-Identifier: BSD-3-Clause
"""XDP programs on a lab's interfaces, ours and others', as the kernel and bpftool tell of them."""

import json
import subprocess

FOREIGN = """
__attribute__((section("xdp"), used)) int foreign(void *context) { return 2; } /* XDP_PASS */
char _license[] __attribute__((section("license"))) = "GPL";
"""
MODES = {1: "native", 2: "generic"}  # XDP_ATTACHED_DRV, _SKB of linux/if_link.h


def program_at(lab, device):
    """(mode, id, name), None: there is none."""
    [link] = json.loads(lab.run("gateway", "ip", "-j", "link", "show", "dev", device))
    if "xdp" not in link:
        return None
    number = link["xdp"]["prog"]["id"]
    shown = json.loads(lab.run("gateway", "bpftool", "-j", "prog", "show", "id", number))
    return MODES[link["xdp"]["mode"]], number, shown["name"]


KINDS = {"native": "xdpdrv", "generic": "xdpgeneric"}  # as ip calls them


def attach_foreign(lab, device, mode):
    source, binary = lab.folder / "foreign.c", lab.folder / "foreign.o"
    source.write_text(FOREIGN)
    subprocess.run(["clang", "-g", "-O2", "-target", "bpf", "-c", source, "-o", binary], check=True)
    lab.run("gateway", "ip", "link", "set", "dev", device, KINDS[mode], "obj", binary, "sec",
            "xdp")


def detach_foreign(lab, device, mode):
    lab.run("gateway", "ip", "link", "set", "dev", device, KINDS[mode], "off")
