# SPDX-License-Identifier: BSD-3-Clause
"""Where every packet of a flood is: what the generator counted must be what the gate counted."""
import mix
from generator import INSIDE, OUTSIDE


def look(gate, generator):
    """All counters that a flood changes, of both ends."""
    worker, service = gate.counters(), gate.listing("services")[0]
    flood = next(t for t in gate.listing("tenants") if t["name"] == "flood")
    return {
        "sent": generator.count(OUTSIDE, "TX") + generator.count(INSIDE, "TX"),
        "refusals_back": generator.count(OUTSIDE, "RX"),
        "arrived": generator.count(INSIDE, "RX"),
        "missed": sum(q["missed"] for port in gate.listing("ports") for q in port["queues"]),
        "received": worker["received"],
        "known": worker["passes"]["flow"],
        "forwarded": worker["forwarded"],
        "dropped": sum(worker["dropped"].values()),
        "answered": worker["answered"],
        "tx_failed": worker["tx_failed"],
        "syns": flood["attempt_packets"],
        "judged": flood["attempts"],
        "refused": sum(flood["refused"].values()),
        "told": service["answered"],
        "untold": service["unanswered"],
    }


def changes(before, after):
    return {name: after[name] - before[name] for name in before}


def is_settled(c):
    """Has the gate taken and let go all that was sent, and the generator what came back?"""
    return (c["sent"] == c["received"] + c["missed"] and
            c["arrived"] + c["refusals_back"] == c["forwarded"] + c["answered"])


def account(offered, before, after):
    """
    `offered`: packets that the generator had ready; what it did not send found no room in the ring
    to the gate. How many of them belonged to established flows follows from their order; how many
    of those came as far as the gate, from what was no SYN there.
    """
    c = changes(before, after)
    no_room = offered - c["sent"] + c["missed"]
    admitted = mix.admitted_of(offered)
    at_gate = c["received"] - c["syns"]
    lost_line = admitted - at_gate
    lost_tx = c["tx_failed"] - (c["told"] - c["answered"])
    balances = {
        "sent = received + missed": (c["sent"], c["received"] + c["missed"]),
        "SYNs = told + untold": (c["syns"], c["told"] + c["untold"]),
        "judged = refused": (c["judged"], c["refused"]),
        "received = forwarded + dropped + answered + tx failed": (
            c["received"], c["forwarded"] + c["dropped"] + c["answered"] + c["tx_failed"]),
        "forwarded = of known flows": (c["forwarded"], c["known"]),
        "forwarded = arrived": (c["forwarded"], c["arrived"]),
        "answered = came back": (c["answered"], c["refusals_back"]),
        "lost on the line = part of no room": (lost_line, min(max(lost_line, 0), no_room)),
    }
    for name, (left, right) in balances.items():
        if left != right:
            raise RuntimeError(f"packets are unaccounted for: {name}: {left}, {right}")
    return {"offered": offered, "no_room": no_room, "refused": c["syns"],
            "judged": c["judged"], "answered": c["answered"], "admitted": admitted,
            "forwarded": c["arrived"],
            "lost": {"line": lost_line, "gate": at_gate - c["forwarded"] - lost_tx, "tx": lost_tx}}
