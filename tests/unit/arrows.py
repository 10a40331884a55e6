#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the house to its plan: which room may include what, and a licence line on every source file.

    tests/unit/arrows.py [ROOT]

Prints one line for each violation and exits 1 if there is any. The table is that of CONTRIBUTING.md.
"""
import os
import re
import sys

POLICY, ADMISSION, PACKET = "dataplane/policy/", "dataplane/admission/", "dataplane/packet/"
FLOW, WORKER = "dataplane/flow/", "dataplane/worker/"
PLAIN = [POLICY, ADMISSION, PACKET, FLOW]

# What a room may include of the house besides its own files: rooms, or single headers.
ROOMS = {
    POLICY: [],
    ADMISSION: [POLICY],
    PACKET: [POLICY, ADMISSION],
    FLOW: [POLICY, ADMISSION, PACKET],
    WORKER: PLAIN,
    # The checked configuration fills the settings of a worker and knows the ranges of a bucket.
    "control/config/": [POLICY, ADMISSION + "bucket.h", WORKER + "settings.h"],
    "control/serve/": PLAIN + [WORKER + "worker.h", "control/config/", "control/plane/plane.h",
                               "control/plane/xdp_view.h"],
    "control/plane/": PLAIN + [WORKER + "worker.h", WORKER + "settings.h", "control/config/",
                               "control/serve/", "bpf/"],
    "control/cli/": [],
    "bpf/": [POLICY, ADMISSION, PACKET],
    "tools/bench/xdp/": PLAIN + ["bpf/", "control/plane/xdp_hosts.h", "control/plane/xdp_slots.h"],
    "tools/bench/": PLAIN + [WORKER],
    "tools/scenario/": [POLICY, "control/config/"],
    "tools/load/": ["tools/scenario/"],
    "tools/lab/": [],
    "tools/sim/": [POLICY, ADMISSION, "control/config/", "tools/scenario/"],
    "tests/bpf/": PLAIN + [WORKER, "control/plane/", "bpf/", "tests/"],
    "tests/": PLAIN + [WORKER, "control/", "bpf/", "tools/"],
}

# Libraries that belong to some rooms only: header pattern -> rooms.
LIBRARIES = {
    r"rte_": [WORKER, "tests/", "tests/bpf/", "tools/bench/"],
    r"numa\.h": [WORKER],
    r"bpf/(libbpf|bpf|btf)\.h": ["control/plane/", "tests/bpf/", "tools/bench/xdp/"],
    r"xdp/libxdp\.h": ["control/plane/", "tests/bpf/"],
    r"libconfig\.h": ["control/config/", "tools/scenario/"],
    r"jansson\.h": ["control/serve/", "control/cli/", "tests/", "tools/sim/"],
}

# All that the plain rooms need of libc: no clock, no random numbers, no I/O. Only a policy, which is
# built by the control thread, may allocate.
PLAIN_LIBC = {"errno.h", "limits.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"}
LIBC_BY_ROOM = {POLICY: PLAIN_LIBC | {"stdlib.h"}}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
SOURCE = re.compile(r"\.(c|h|py|sh)$|^meson\.build$|^meson_options\.txt$")


def files_of(root):
    """Every file of the tree, without hidden folders (but .ci) and build folders."""
    for folder, subfolders, names in os.walk(root):
        if "meson-private" in subfolders:
            subfolders.clear()
            continue
        subfolders[:] = [s for s in subfolders if (s[0] != "." or s == ".ci") and s != "__pycache__"]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def room_of(path):
    """The room a file stands in, None for files of the outer folders."""
    return next((room for room in ROOMS if path.startswith(room)), None)


def house_violation(path, room, header):
    """Why `path` may not include the house's own `header`; None if it may."""
    if not re.match(r"(dataplane|control|bpf|tools|tests)/", header):
        return f'includes "{header}": paths start at the root of the tree'
    if header.startswith(room) or any(header.startswith(a) for a in ROOMS[room]):
        return None
    return f'includes "{header}": {room} may not use it'


def library_violation(room, header):
    for pattern, rooms in LIBRARIES.items():
        if re.match(pattern, header) and room not in rooms:
            return f"includes <{header}>: only {', '.join(rooms)} may"
    if room in PLAIN and header not in LIBC_BY_ROOM.get(room, PLAIN_LIBC):
        return f"includes <{header}>: a plain room takes time, chance and memory from its caller"
    return None


def reaches(root, path, pattern, seen):
    """The chain of own headers from `path` to a library header that matches; None if there is none."""
    if path in seen or not os.path.exists(os.path.join(root, path)):
        return None
    seen.add(path)
    for kind, header in INCLUDE.findall(read(root, path)):
        if kind == "<" and re.match(pattern, header):
            return [path, header]
        chain = reaches(root, header, pattern, seen) if kind == '"' else None
        if chain:
            return [path] + chain
    return None


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def include_violations(root, path):
    room = room_of(path)
    if room is None:
        return ["stands in no room: add the room to tests/unit/arrows.py and CONTRIBUTING.md"]
    found = []
    for kind, header in INCLUDE.findall(read(root, path)):
        why = house_violation(path, room, header) if kind == '"' else library_violation(room, header)
        if why:
            found.append(why)
    # What the control side includes must not bring DPDK in through the back door.
    if room.startswith("control/"):
        chain = reaches(root, path, "rte_", set())
        if chain:
            found.append("reaches DPDK: " + " -> ".join(chain))
    return found


def needs_licence(root, path):
    if SOURCE.search(os.path.basename(path)):
        return True
    if "." in os.path.basename(path):
        return False
    with open(os.path.join(root, path), "rb") as file:
        return file.read(2) == b"#!"


def violations(root):
    for path in sorted(files_of(root)):
        if needs_licence(root, path) and SPDX not in "".join(read(root, path).splitlines()[:3]):
            yield f"{path}: no line '{SPDX}' on top"
        if path.endswith((".c", ".h")):
            for why in include_violations(root, path):
                yield f"{path}: {why}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "../..")
    found = list(violations(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
