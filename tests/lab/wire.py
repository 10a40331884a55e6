# SPDX-License-Identifier: BSD-3-Clause
"""
Sockets inside a lab's namespaces: raw ones that see and send frames as they are on the wire, and
plain TCP ones. A socket stays in the namespace in which it was made, whoever uses it.
"""

import ctypes
import os
import socket
import struct
import threading
import time

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_AUXDATA = 8
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
STATUS_VLAN_VALID, STATUS_VLAN_TPID_VALID = 0x10, 0x40
TPID_CUSTOMER = 0x8100
ANCILLARY_BYTES = 256
FRAME_MAX_BYTES = 65536
RECEIVE_BUFFER_BYTES = 8 << 20

libc = ctypes.CDLL(None, use_errno=True)


def socket_in(namespace, *kind):
    made = []

    def make():
        with open(f"/run/netns/{namespace}", "rb") as net:
            if libc.setns(net.fileno(), CLONE_NEWNET):
                made.append(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
            else:
                made.append(socket.socket(*kind))

    # Only that thread changes its namespace, and it ends.
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def connect(lab, source, port, timeout=5, address="10.9.0.10"):
    """A client of the lab connects; raises as connect() does."""
    client = socket_in(lab.namespace("clients"), socket.AF_INET, socket.SOCK_STREAM)
    try:
        client.settimeout(timeout)
        client.bind((source, 0))
        client.connect((address, port))
    except OSError:
        client.close()
        raise
    return client


def packet_socket(lab, where, device, protocol):
    raw = socket_in(lab.namespace(where), socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
    raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    raw.bind((device, protocol))
    return raw


def untouched(frame, auxdata):
    """The frame with the outer tag that the kernel has taken out of it and put beside it."""
    status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", auxdata[:20])
    if not status & STATUS_VLAN_VALID:
        return frame
    if not status & STATUS_VLAN_TPID_VALID:
        tpid = TPID_CUSTOMER
    return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]


class Frame:
    def __init__(self, data, time_s, sent):
        self.data, self.time_s, self.sent = data, time_s, sent


class Capture:
    """All frames of a device that `wanted(frame)` says yes to, in a thread, until stopped."""

    def __init__(self, lab, where, device, wanted):
        self.wanted, self.frames = wanted, []
        self.socket = packet_socket(lab, where, device, ETH_P_ALL)
        self.socket.settimeout(0.05)
        self.stopping = False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            try:
                data, ancillary, _, address = self.socket.recvmsg(FRAME_MAX_BYTES, ANCILLARY_BYTES)
            except TimeoutError:
                if self.stopping:
                    return
                continue
            except OSError:  # the device goes down and up again in some tests
                continue
            time_s = None
            for level, kind, value in ancillary:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    data = untouched(data, value)
                elif (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                    seconds, ns = struct.unpack("qq", value)
                    time_s = seconds + ns / 1e9
            frame = Frame(data, time_s, address[2] == socket.PACKET_OUTGOING)
            if self.wanted(frame):
                self.frames.append(frame)

    def wait_for(self, count, seconds):
        """Whether that many frames have come in time."""
        end = time.monotonic() + seconds
        while len(self.frames) < count and time.monotonic() < end:
            time.sleep(0.01)
        return len(self.frames) >= count

    def stop(self):
        """What came, everything that has arrived so far included."""
        self.stopping = True
        self.thread.join()
        self.socket.close()
        return self.frames


class Sender:
    """Sends frames as they are from a device."""

    def __init__(self, lab, where, device):
        self.socket = packet_socket(lab, where, device, 0)

    def send(self, frame):
        self.socket.send(frame)

    def close(self):
        self.socket.close()
