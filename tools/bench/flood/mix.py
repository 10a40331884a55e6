# SPDX-License-Identifier: BSD-3-Clause
"""
The frames of a flood: established connections of a tenant that was admitted, and SYNs of one that
has no quota. All of 60 bytes, in captures that testpmd sends again and again.
"""
import struct

FLOWS = 1000
SYNS_EACH = 10  # for each packet of an established flow
CYCLE = 1 + SYNS_EACH
SERVICE, SERVICE_PORT = (10 << 24) + (9 << 16) + 10, 80
GUESTS, FLOODERS = (10 << 24) + (1 << 16), (10 << 24) + (2 << 16)
FIRST_PORT = 1024
SYN, PSH, ACK = 0x02, 0x08, 0x10
CLIENT_ISN, SERVICE_ISN = 1000, 2000
FRAME_BYTES = 60

# So few refusals are remembered that nearly every SYN is judged anew, as one never seen would be.
FLOWS_MAX = 2 * FLOWS
WINDOW = 4 * FLOWS  # no more than a quarter of it may be shaking hands at once

# Every quota of the guest's is limited, so that each packet is charged, but beyond any rate here.
POLICY = """
flows = {{ max = {flows_max}; embryonic = "60s"; }};
tenants = (
  {{ name = "default"; quota = {{ attempts = 0; }}; }},
  {{ name = "guest"; prefixes = ["10.1.0.0/16"]; class = "normal";
     quota = {{ attempts = "1000000000/s"; packets = "1000000000/s"; bits = "400Gbit/s"; }}; }},
  {{ name = "flood"; prefixes = ["10.2.0.0/16"]; class = "bulk"; quota = {{ attempts = 0; }}; }}
);
services = ( {{ name = "web"; addresses = ["10.9.0.10"]; protocol = "tcp"; ports = ["80"];
                window = {window}; refuse = "{refuse}"; refuse_rate = "1000000000/s"; }} );
"""


def policy(refuse):
    return POLICY.format(flows_max=FLOWS_MAX, window=WINDOW, refuse=refuse)


def frame(source, destination, numbers, flags, data=b""):
    """`source` and `destination`: (address, port); `numbers`: (sequence, acknowledged)."""
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 40 + len(data), 0, 0, 64, 6, 0, source[0],
                     destination[0])
    tcp = struct.pack("!HHIIBBHHH", source[1], destination[1], *numbers, 0x50, flags, 65535, 0, 0)
    return (bytes(12) + b"\x08\x00" + ip + tcp + data).ljust(FRAME_BYTES, b"\0")


def client(base, number):
    return base + number % 250, FIRST_PORT + number


WEB = (SERVICE, SERVICE_PORT)


def syns(base, count):
    return [frame(client(base, i), WEB, (CLIENT_ISN, 0), SYN) for i in range(count)]


def syn_acks():
    return [frame(WEB, client(GUESTS, i), (SERVICE_ISN, CLIENT_ISN + 1), SYN | ACK)
            for i in range(FLOWS)]


def acks(flags=ACK, data=b""):
    return [frame(client(GUESTS, i), WEB, (CLIENT_ISN + 1, SERVICE_ISN + 1), flags, data)
            for i in range(FLOWS)]


def mix():
    """Ten SYNs, then a segment of an established flow, and so on: see admitted_of()."""
    flood, known = syns(FLOODERS, FLOWS * SYNS_EACH), acks(PSH | ACK, b"sluice")
    frames = []
    for i, segment in enumerate(known):
        frames += [*flood[i * SYNS_EACH:(i + 1) * SYNS_EACH], segment]
    return frames


def admitted_of(packets):
    """How many of the first so many packets of an endless mix() belong to admitted work."""
    return packets // CYCLE
