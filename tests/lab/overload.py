# SPDX-License-Identifier: BSD-3-Clause
"""The lab's service offered a multiple of what it can do, and what became of that."""

import pathlib

SERVICE = "10.9.0.10:80"
CAPACITY_PER_S = 170
DEADLINE_S = 1


def offer(lab, times, seconds=10, capacity_per_s=CAPACITY_PER_S, **more):
    """A run of sluice-load from acme and globex in turn, if nothing else is said; not waited for."""
    options = {"target": SERVICE, "source": "10.1.0.0/16,10.2.0.0/16",
               "rate": f"{round(times * capacity_per_s)}/s", "duration": f"{seconds}s",
               "deadline": f"{DEADLINE_S}s", "series": True, **more}
    return lab.load(**options)


def measured(load, what):
    """Its result, printed. The generator must have done its part."""
    result = load.result()
    print(f"{what}: offered {result['offered']}, useful {result['useful']}, late {result['late']}, "
          f"unfinished {result['unfinished']}, refused {result['refused']}, "
          f"effective p50 {result['eff_p50_ms']} p99 {result['eff_p99_ms']} ms, "
          f"time to refusal p50 {result['refusal_p50_ms']} p99 {result['refusal_p99_ms']} ms")
    assert result["not_sent"] == 0
    return result


def memory_kib(process):
    """What the process has in memory, and its private data, in memory or not: see proc(5)."""
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: int(fields[name].split()[0]) for name in ("VmRSS", "VmData")}


# -- what a configuration says of the service, for lab.config(service=...) --


def value(what):
    """libconfig: a group of a dict, a list of a list, a string of anything with a unit."""
    if isinstance(what, dict):
        return "{ " + keys(what) + " }"
    if isinstance(what, (list, tuple)):
        return "[" + ", ".join(value(one) for one in what) + "]"
    return f'"{what}"' if isinstance(what, str) else str(what)


def keys(group):
    return " ".join(f"{name} = {value(what)};" for name, what in group.items())


def service(**other):
    """All of overload control, a window of five by the exchange; what is said otherwise replaces it,
    and None leaves a key out."""
    said = {"unit": "exchange", "window": 5, "capacity": "170/s", "deadline": "1s",
            "wait": {"places": 16, "age": "100ms", "order": "fifo"},
            "shed": {"ceiling": 0.98},
            "breaker": {"failures": 3, "open": "1s"},
            "probes": {"prefixes": ["10.0.0.0/24"], "attempts": "10/s"},
            "refuse": "rst", **other}
    return keys({name: what for name, what in said.items() if what is not None})
