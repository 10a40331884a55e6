# SPDX-License-Identifier: BSD-3-Clause
"""
What passes the gate while its daemon comes and goes: probes that show every gap, streams that must
survive, and who was let in when.
"""

import collections
import socket
import struct
import threading
import time

from scapy.all import IP, UDP, Ether, raw

import wire

SO_ATTACH_FILTER = 26
LD_BYTE, LD_HALF, JUMP_EQUAL, JUMP_BITS, RETURN = 0x30, 0x28, 0x15, 0x45, 0x06
ETHERTYPE, PROTOCOL, UDP_TARGET, TCP_FLAGS = 12, 23, 36, 47  # of IPv4 without tags and options
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
OF_ONE_MAX = 1 << 20  # numbers of one connection: far more than a request has
PROBES_PER_S, LATE_S = 500, 0.1
STREAM_PORT, CHUNK, CHUNK_S = 8090, bytes(range(256)) * 16, 0.02


def attach_filter(sock, *conditions):
    """Frames that meet all of (load, offset, jump, value) reach the socket."""
    program = []
    for i, (load, offset, jump, value) in enumerate(conditions):
        to_end = 2 * (len(conditions) - i) - 1
        program += [(load, 0, 0, offset), (jump, 0, to_end, value)]
    program += [(RETURN, 0, 0, 0xFFFF), (RETURN, 0, 0, 0)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = wire.ctypes.create_string_buffer(code)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HP", len(program), wire.ctypes.addressof(buffer)))


class Filtered(wire.Capture):
    """A capture that the kernel spares what nobody wants."""

    def __init__(self, lab, where, device, wanted, *conditions):
        self.conditions = conditions
        super().__init__(lab, where, device, wanted)

    def read(self):
        attach_filter(self.socket, (LD_HALF, ETHERTYPE, JUMP_EQUAL, 0x0800), *self.conditions)
        super().read()


Probe = collections.namedtuple("Probe", "sent_s arrived_s")  # None: it never did


class Probes:
    """Numbered datagrams to a port that no service has, from one end to the other. Their address of
    the link is nobody's: no stack answers."""

    def __init__(self, lab, source, target, addresses, port):
        self.frame = raw(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") /
                         IP(src=addresses[0], dst=addresses[1]) /
                         UDP(sport=port, dport=port, chksum=0) / bytes(12))[:-12]
        self.capture = Filtered(lab, *target, lambda f: not f.sent,
                                (LD_BYTE, PROTOCOL, JUMP_EQUAL, socket.IPPROTO_UDP),
                                (LD_HALF, UDP_TARGET, JUMP_EQUAL, port))
        self.sender = wire.Sender(lab, *source)
        self.sent_s, self.stopping = [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        due = time.monotonic()
        while not self.stopping:
            self.sent_s.append(time.time())
            self.sender.send(self.frame + struct.pack("!Iq", len(self.sent_s) - 1, 0))
            due += 1 / PROBES_PER_S
            time.sleep(max(0, due - time.monotonic()))

    def stop(self):
        self.stopping = True
        self.thread.join()
        self.sender.close()
        time.sleep(0.2)  # for the last to arrive
        arrived = {struct.unpack("!I", f.data[42:46])[0]: f.time_s for f in self.capture.stop()}
        return [Probe(sent, arrived.get(i)) for i, sent in enumerate(self.sent_s)]


def both_ways(lab):
    clients, inside = ("clients", "c0"), ("inside", "s0")
    return {"in": Probes(lab, clients, inside, ("10.0.0.1", "10.9.0.10"), 9),
            "out": Probes(lab, inside, clients, ("10.9.0.10", "10.0.0.1"), 10)}


Gap = collections.namedtuple("Gap", "ms from_s lost late")


def widest_gap(probes, start_s, end_s):
    """The longest time, from the sending of one that did not arrive soon to that of the next that
    did; and how many of all that were sent from start_s to end_s were lost, and how many late."""
    begin, widest, lost, late = None, (0, start_s), 0, 0
    for probe in probes:
        if not start_s <= probe.sent_s <= end_s:
            continue
        if probe.arrived_s and probe.arrived_s - probe.sent_s <= LATE_S:
            if begin:
                widest = max(widest, (probe.sent_s - begin, begin))
            begin = None
        else:
            begin = begin or probe.sent_s
            lost += probe.arrived_s is None
            late += probe.arrived_s is not None
    if begin:
        widest = max(widest, (end_s - begin, begin))
    return Gap(1000 * widest[0], widest[1], lost, late)


class Entries:
    """Who began what, and was told off: SYNs that reach the service, resets that reach clients."""

    def __init__(self, lab):
        of_tcp = (LD_BYTE, PROTOCOL, JUMP_EQUAL, socket.IPPROTO_TCP)
        self.entered = Filtered(lab, "inside", "s0", lambda f: not f.sent and not f.data[47] & ACK,
                                of_tcp, (LD_BYTE, TCP_FLAGS, JUMP_BITS, SYN))
        self.told = Filtered(lab, "clients", "c0", lambda f: True,
                             of_tcp, (LD_BYTE, TCP_FLAGS, JUMP_BITS, FIN | SYN | RST))

    def stop(self):
        """(times of each tenant's entries, (time, number) of resets of those who had entered)."""
        time.sleep(0.2)
        times, begun = collections.defaultdict(list), {}
        for frame in self.entered.stop():
            client, number = frame.data[26:30] + frame.data[34:36], number_at(frame, 38)
            if begun.get(client) != number:  # a SYN that comes again begins nothing
                times[frame.data[27]].append(frame.time_s)
            begun[client] = number
        return {"acme": times[1], "globex": times[2]}, resets_of(self.told.stop(), begun)


def resets_of(frames, begun):
    """Of connections that had entered and that their clients had not closed: late copies of what a
    client sent before that are answered by resets, which nobody waits for."""
    resets, answered, closed = [], {}, set()
    for frame in frames:
        flags = frame.data[TCP_FLAGS]
        if frame.sent:
            client = frame.data[26:30] + frame.data[34:36]
            (closed.discard if flags & SYN else closed.add)(client)
            continue
        client = frame.data[30:34] + frame.data[36:38]
        if flags & SYN:
            answered[client] = number_at(frame, 42)
        elif (flags & RST and client not in closed
              and belongs(frame, begun.get(client), answered.get(client))):
            resets.append((frame.time_s, number_at(frame, 38)))
    return resets


def number_at(frame, offset):
    return struct.unpack("!I", frame.data[offset:offset + 4])[0]


def belongs(reset, begun, answered):
    """Does it end the connection that began with that number? A port is soon used again, and then
    refused. Nor does a client whose SYN was answered believe the refusal of an older copy of it,
    which is of number 0 (RFC 9293, 3.5.2)."""
    if begun is None or not reset.data[TCP_FLAGS] & ACK:
        return begun is not None
    if (number_at(reset, 42) - begun) % (1 << 32) >= OF_ONE_MAX:
        return False
    return number_at(reset, 38) != 0 or answered != (begun + 1) % (1 << 32)


class Streams:
    """A service that sends pieces to each of its clients, all the time, until it is finished."""

    def __init__(self, lab, count):
        self.finishing = threading.Event()
        self.listener = wire.socket_in(lab.namespace("inside"), socket.AF_INET, socket.SOCK_STREAM)
        self.listener.bind(("10.9.0.10", STREAM_PORT))
        self.listener.listen(count)
        self.sent, self.got, self.ends, self.threads = [], [], [], []
        for i in range(count):
            client = wire.connect(lab, f"10.1.0.{i + 1}", STREAM_PORT, timeout=30)
            self.begin(self.send, self.listener.accept()[0])
            self.begin(self.receive, client)

    def begin(self, what, connection):
        thread = threading.Thread(target=what, args=(connection,), daemon=True)
        self.threads.append(thread)
        thread.start()

    def send(self, connection):
        chunks = 0
        with connection:
            while not self.finishing.is_set():
                connection.sendall(CHUNK)
                chunks += 1
                time.sleep(CHUNK_S)
        self.sent.append(chunks)

    def receive(self, client):
        data = bytearray()
        try:
            with client:
                while piece := client.recv(65536):
                    data += piece
        except OSError as error:
            self.ends.append(error)
        self.got.append(data)

    def finish(self):
        """Every piece has come, in order, and the end after it."""
        self.finishing.set()
        for thread in self.threads:
            thread.join(20)
        self.listener.close()
        assert not self.ends and not any(t.is_alive() for t in self.threads), self.ends
        assert sorted(len(data) for data in self.got) == sorted(
            len(CHUNK) * chunks for chunks in self.sent)
        assert all(data == CHUNK * (len(data) // len(CHUNK)) for data in self.got)


class Timeline:
    """What happened when, in ms from the first event."""

    def __init__(self):
        self.start_s = None

    def note(self, what, at_s=None):
        at_s = at_s or time.time()
        self.start_s = self.start_s or at_s
        print(f"{1000 * (at_s - self.start_s):9.1f} ms  {what}")
        return at_s
