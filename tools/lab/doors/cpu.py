# SPDX-License-Identifier: BSD-3-Clause
"""
Whose CPU time it was: of the door's processes, the service's, the load tool's, and all the rest.

What the kernel does for a packet is charged to whoever runs when it is done: the load tool's share
holds the way through a bridge and its rules. Only the machine's total misses nothing.
"""
import os
import pathlib

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KTHREADD = 2


class Process:
    """Of /proc/PID/stat, in seconds: its own time, and with that of the children that have ended."""

    def __init__(self, text):
        fields = text.rpartition(")")[2].split()  # from field 3 of proc(5) on
        times = [int(field) / TICKS_PER_S for field in fields[11:15]]
        self.parent = int(fields[1])
        self.own_s, self.all_s = sum(times[:2]), sum(times)


def processes():
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = Process(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found


def machine_s():
    """Seconds that the CPUs were neither idle nor taken away by the host. What is idle the kernel
    measures; what is busy it samples by ticks, which miss who runs for less than one at a time."""
    with open("/proc/stat", encoding="utf-8") as file:
        words = file.readline().split()[1:9]
    idle, iowait, steal = (int(words[i]) / TICKS_PER_S for i in (3, 4, 7))
    up_s = float(pathlib.Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
    return up_s * os.cpu_count() - idle - iowait - steal


class Snapshot:
    """`groups`: pids of the lab by name, a process of which may have children of its own."""

    def __init__(self, groups):
        now = processes()
        self.machine_s = machine_s()
        ours = {name: {pid for pid in now if pid in pids or now[pid].parent in pids}
                for name, pids in groups.items()}
        self.group_s = {name: sum(now[pid].own_s for pid in pids) for name, pids in ours.items()}
        # The sum does not change when a parent takes over the time of a child that has ended.
        lab = set().union(*ours.values())
        self.strangers_s = sum(process.all_s for pid, process in now.items()
                               if pid not in lab and pid not in (KTHREADD, os.getpid())
                               and process.parent != KTHREADD)
        self.self_s = now[os.getpid()].own_s

    def since(self, before, load_s):
        """CPU seconds between two snapshots; `load_s` are the load tool's. `rest`: all but load tool,
        service, and what has nothing to do with the lab; `lab`: with load tool and service."""
        spent = {f"{name}_cpu_s": self.group_s[name] - before.group_s[name] for name in self.group_s}
        strangers_s = (self.strangers_s - before.strangers_s) + (self.self_s - before.self_s)
        lab_s = self.machine_s - before.machine_s - strangers_s
        return {**spent, "load_cpu_s": load_s, "lab_cpu_s": lab_s,
                "rest_cpu_s": lab_s - load_s - spent["service_cpu_s"],
                "strangers_cpu_s": strangers_s}
