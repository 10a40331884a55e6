# SPDX-License-Identifier: BSD-3-Clause
"""
Where a measurement takes place: a folder for every file of its processes, huge pages of its own,
two CPUs, and two pairs of devices between the generator and what it tests.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

MEMORY_MIB = 384  # of each DPDK process; two run at a time
WAIT_MAX_S = 60
UNAVAILABLE = 77  # exit code of what cannot be measured on this machine
SIDES = ("outside", "inside")

# vhost takes over no more than eight pieces of memory, so they must not be single pages.
SINGLE_FILES = "--single-file-segments"


class Unavailable(Exception):
    """This machine cannot do it; says why."""


def until(condition, what):
    """Waits for it to come true, but not for ever."""
    deadline = time.monotonic() + WAIT_MAX_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not within {WAIT_MAX_S} s")
        time.sleep(0.02)


def huge_free_mib():
    values = {}
    for line in pathlib.Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, value = line.split(":")
        values[name] = int(value.split()[0])
    return values["HugePages_Free"] * values["Hugepagesize"] // 1024


def check_machine(memory):
    if not shutil.which("dpdk-testpmd"):
        raise Unavailable("dpdk-testpmd is not installed (Debian: dpdk-dev)")
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("a generator and a forwarder need a CPU each, and only one is allowed")
    if memory == "huge" and huge_free_mib() < 2 * MEMORY_MIB:
        raise Unavailable(f"{huge_free_mib()} MiB of huge pages are free, {2 * MEMORY_MIB} are "
                          "needed (sysctl vm.nr_hugepages)")


class Rig:
    """Use it in a with statement: what it made is gone afterwards."""

    def __init__(self, kind, memory):
        self.kind, self.memory = kind, memory
        self.generator_cpu, self.tested_cpu = sorted(os.sched_getaffinity(0))[-2:]
        self.folder = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-port-")
        os.mkdir(self.path("huge"))
        if self.memory == "huge":
            # In a mount namespace that ends with us: no page outlives the measurement.
            subprocess.run(["mount", "-t", "hugetlbfs", "none", self.path("huge")], check=True)
        return self

    def __exit__(self, *_):
        if self.memory == "huge":
            subprocess.run(["umount", "-l", self.path("huge")], check=True)
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self):
        """EAL keeps its run-time files in this folder, too."""
        return {**os.environ, "RUNTIME_DIRECTORY": self.folder}

    def huge_dir(self):
        return f"--huge-dir={self.path('huge')}"

    def eal_memory(self):
        """Of testpmd."""
        return [self.huge_dir(), SINGLE_FILES] if self.memory == "huge" else ["--no-huge"]

    def gate_memory(self):
        """Of sluiced, which asks for huge pages by itself. With memif it may want to unlink them,
        and EAL cannot unlink pages of a file that holds several."""
        if self.memory != "huge":
            return []
        return [self.huge_dir()] if self.kind == "memif" else [self.huge_dir(), SINGLE_FILES]

    def tested_device(self, side):
        """The end that waits for the generator, outside or inside."""
        i = SIDES.index(side)
        if self.kind == "memif":
            return f"net_memif{i},role=server,id={i},socket={self.path('memif')},socket-abstract=no"
        return f"net_vhost{i},iface={self.path('vhost')}{i}"

    def generator_device(self, side):
        i = SIDES.index(side)
        if self.kind == "memif":
            return f"net_memif{i},role=client,id={i},socket={self.path('memif')},socket-abstract=no"
        return f"net_virtio_user{i},path={self.path('vhost')}{i},queue_size=1024"

    def clear(self):
        """Sockets that a vhost or memif server leaves behind would be in the way of the next."""
        for path in pathlib.Path(self.folder).iterdir():
            if path.is_socket():
                path.unlink()
            elif path.name == "huge":
                for pages in path.iterdir():
                    pages.unlink()
