# SPDX-License-Identifier: BSD-3-Clause
"""Tables of runs: the median of each figure, and how far the runs were apart."""
import statistics

KINDS = ["refused_rst", "refused_timeout", "refused_429", "refused_403", "refused_503",
         "refused_other"]
CPU = ["door_cpu_s", "rest_cpu_s", "lab_cpu_s", "load_cpu_s", "service_cpu_s", "strangers_cpu_s"]
CSV_COLUMNS = ["kind", "door", "multiple", "run", "seconds", "goodput_per_s", "offered",
               "useful", "late", "unfinished", "refused", *KINDS, "not_sent", "eff_p50_ms", "eff_p99_ms",
               "refusal_p50_ms", "refusal_p99_ms", "lag_max_ms", *CPU, "recovery_s"]


def per_refusal_us(what):
    """None where most of it went into work that was admitted."""
    return lambda row: 1e6 * row[what] / row["refused"] if row["refused"] > row["useful"] / 2 else None


def field(what):
    return lambda row: row[what]


# Heading, width, decimals, value of a row.
COLUMNS = [("useful/s", 8, 1, field("goodput_per_s")),
           ("p50 ms", 7, 0, field("eff_p50_ms")), ("p99 ms", 7, 0, field("eff_p99_ms")),
           ("late", 5, 0, field("late")), ("unfin.", 6, 0, field("unfinished")),
           ("rst", 6, 0, field("refused_rst")), ("429", 6, 0, field("refused_429")),
           ("503", 6, 0, field("refused_503")),
           ("other", 6, 0, lambda row: row["refused"] - row["refused_rst"] - row["refused_429"] -
            row["refused_503"]),
           ("no p50", 7, 2, field("refusal_p50_ms")), ("no p99", 7, 2, field("refusal_p99_ms")),
           ("door us", 8, 0, per_refusal_us("door_cpu_s")),
           ("rest us", 8, 0, per_refusal_us("rest_cpu_s")),
           ("lab us", 7, 0, lambda row: 1e6 * row["lab_cpu_s"] / row["offered"])]

NOTES = """\
Medians of the runs. useful/s: without the first second, in which queues fill. p50, p99: effective
latency, late and unfinished counted at 1 s. rst to other: refusals by kind; no p50, no p99: time to
refusal, ms. CPU time in microseconds: door us, of the door's processes, and rest us, of everything
but load tool and service, for each refusal (admitted work included); lab us, of everything, for each
request offered."""


def median(rows, value):
    """None where no run has it."""
    known = [one for one in map(value, rows) if one is not None]
    return statistics.median(known) if known else None


def groups(rows, *keys):
    """Rows by the values of the keys, in order of appearance."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def cell(value, width, decimals):
    return f"{'-' if value is None else format(value, f'.{decimals}f'):>{width}}"


def table(rows):
    heading = f"{'offered':>7} {'door':8} " + " ".join(f"{name:>{width}}"
                                                        for name, width, _, _ in COLUMNS)
    lines = [heading + "  useful/s from-to"]
    last = None
    for (multiple, door), runs in groups(rows, "multiple", "door").items():
        if last not in (None, multiple):
            lines.append("")
        last = multiple
        cells = " ".join(cell(median(runs, value), width, decimals)
                         for _, width, decimals, value in COLUMNS)
        useful = [row["goodput_per_s"] for row in runs]
        lines.append(f"{multiple:6g}x {door:8} {cells}  {min(useful):.1f}-{max(useful):.1f}")
    others = median(rows, lambda row: row["strangers_cpu_s"] / row["seconds"])
    return "\n".join([*lines, "", NOTES, "What has nothing to do with the lab kept "
                      f"{others:.1f} CPUs busy meanwhile (median).", ""])


def spike_table(rows):
    lines = ["Recovery: seconds from the end of the spike to two seconds in a row in which 95 % of",
             "what was offered was useful; useful/s before, during and after the spike", "",
             f"{'door':8} {'before':>7} {'during':>7} {'after':>7}  recovery s, by run"]
    for (door,), runs in groups(rows, "door").items():
        spans = [median(runs, lambda row, span=span: statistics.mean(row["useful_by_second"][span]))
                 for span in (slice(1, 5), slice(5, 10), slice(10, None))]
        recovery = ["never" if row["recovery_s"] is None else str(row["recovery_s"]) for row in runs]
        lines.append(f"{door:8} " + " ".join(cell(span, 7, 1) for span in spans) +
                     f"  {', '.join(recovery)}")
    return "\n".join(lines)
