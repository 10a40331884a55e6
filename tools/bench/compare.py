#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares two files of JSON lines that bench, bench instructions or bench port wrote.

Rows are joined on row, ports, flows, tenants and order. The cost of a row is what it adds to the
base of the same run, in units of that base, (cycles - base) / base; a row that forwards nothing
costs all of its cycles, cycles / base. Change, verdict and bound are those of the cost; delta is
shown only. A line of bench port has its ratio compared in place of a cost, and more is better. A
change is real when the ranges of both runs do not touch: the least of the row over the most of the
base, to the most over the least. Instructions have no noise.

Exit codes: 0; 1 when --bound was exceeded; 2 when there was nothing to compare.
"""
import argparse
import json
import sys

KEY = ("row", "ports", "flows", "tenants", "order")
HEAD = ("row", "flows", "tenants", "order", "ratio A", "ratio B", "delta A", "delta B", "change")


class Unusable(Exception):
    """A file that cannot be compared; the text says why."""


def number(values, name):
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"no number '{name}'")
    return value


class Row:
    """What counts of a line: the key, what is compared and how far that is sure."""

    def __init__(self, values):
        if not isinstance(values, dict) or not isinstance(values.get("row"), str):
            raise ValueError("no object with a 'row'")
        for name in KEY:
            if isinstance(values.get(name), (dict, list)):
                raise ValueError(f"'{name}' is no plain value")
        self.key = tuple(values.get(name) for name in KEY)
        self.unit = next((unit for unit in ("instructions", "pps") if unit in values), "cycles")
        if self.unit == "pps":
            self.read_rate(values)
        else:
            self.read_cost(values)

    def read_rate(self, values):
        self.ratio = self.compared = number(values, "ratio")
        if self.ratio <= 0:
            raise ValueError("ratio is not above zero")
        self.delta = None
        self.range = number(values, "ratio_min"), number(values, "ratio_max")

    def read_cost(self, values):
        whole, base = number(values, self.unit), number(values, "base_" + self.unit)
        if base <= 0:
            raise ValueError(f"base_{self.unit} is not above zero")
        free = 1 if values.get("forwards", True) else 0
        self.ratio, self.delta = whole / base, number(values, "delta")
        self.compared = self.ratio - free
        self.range = self.compared, self.compared
        if self.unit == "cycles":
            least, most = (number(values, end) for end in ("base_min", "base_max"))
            if least <= 0:
                raise ValueError("base_min is not above zero")
            self.range = number(values, "min") / most - free, number(values, "max") / least - free


def read_rows(path):
    """Rows of a file by their keys."""
    rows = {}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{path}: {getattr(error, 'strerror', None) or 'no text'}") from error
    for at, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = Row(json.loads(line))
        except json.JSONDecodeError as error:
            raise Unusable(f"{path}:{at}: no JSON: {error.msg}") from error
        except ValueError as error:
            raise Unusable(f"{path}:{at}: {error}") from error
        if row.key in rows:
            raise Unusable(f"{path}:{at}: a second line of {name_of(row.key)}")
        rows[row.key] = row
    return rows


def name_of(key):
    row, ports, flows, tenants, order = key
    return f"{row}, ports {ports}, flows {flows}, tenants {tenants}, order {order}"


def change_percent(a, b):
    """None where there is nothing to take a percentage of."""
    if a.compared <= 0:
        return None
    # Rounded, so that 10 % are not more than a bound of 10 % in the last bit.
    return round((b.compared - a.compared) / a.compared * 100, 9)


def is_real(a, b):
    return a.range[1] < b.range[0] or b.range[1] < a.range[0]


def verdict(a, b):
    if is_real(a, b):
        return "real"
    return "same" if a.unit == "instructions" else "within noise"


def table_line(a, b):
    change = change_percent(a, b)
    row, _, flows, tenants, order = a.key
    deltas = ["-" if one.delta is None else f"{one.delta:.1f}" for one in (a, b)]
    return (row, flows, tenants, order, f"{a.ratio:.2f}", f"{b.ratio:.2f}", *deltas,
            "-" if change is None else f"{change:+.1f} %", verdict(a, b))


def print_table(pairs):
    lines = [HEAD + ("",)] + [table_line(a, b) for a, b in pairs]
    lines = [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    for line in lines:
        cells = [cell.ljust(width) if i in (0, 3) else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells + line[len(HEAD):]).rstrip())


def print_json(pairs):
    for a, b in pairs:
        change = change_percent(a, b)
        print(json.dumps({**dict(zip(KEY, a.key)), "ratio_a": round(a.ratio, 3),
                          "ratio_b": round(b.ratio, 3), "delta_a": a.delta, "delta_b": b.delta,
                          "change_percent": None if change is None else round(change, 2),
                          "real": is_real(a, b)}, separators=(",", ":")))


def print_lonely(path, keys, as_json):
    for key in keys:
        if as_json:
            print(json.dumps({**dict(zip(KEY, key)), "only_in": path}, separators=(",", ":")))
        else:
            print(f"only in {path}: {name_of(key)}")


def exceeded(pairs, gone, bound):
    """A sentence for each row that does not hold the bound; one that is gone holds none."""
    for a, b in pairs:
        change = change_percent(a, b)
        if change is None and b.compared > a.compared:
            yield (f"{name_of(a.key)}: {a.compared:.2f} to {b.compared:.2f} times the base, "
                   "no percentage of which to take")
        elif change is not None and (-change if a.unit == "pps" else change) > bound:
            yield f"{name_of(a.key)}: {change:+.1f} %, more than {bound:g} %"
    for key in gone:
        yield f"{name_of(key)}: was not measured again"


def compare(arguments):
    a, b = read_rows(arguments.a), read_rows(arguments.b)
    pairs = [(a[key], b[key]) for key in a if key in b]
    gone = [key for key in a if key not in b]
    for one, other in pairs:
        if one.unit != other.unit:
            raise Unusable(f"{name_of(one.key)}: {one.unit} in A, {other.unit} in B")
    if pairs:
        (print_json if arguments.json else print_table)(pairs)
    print_lonely(arguments.a, gone, arguments.json)
    print_lonely(arguments.b, [key for key in b if key not in a], arguments.json)
    if not pairs:
        raise Unusable("no row stands in both files")
    if arguments.bound is None:
        return 0
    broken = list(exceeded(pairs, gone, arguments.bound))
    for sentence in broken:
        print(f"compare: {sentence}", file=sys.stderr)
    return 1 if broken else 0


def main():
    parser = argparse.ArgumentParser(prog="bench compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", metavar="A.json", help="the older figures")
    parser.add_argument("b", metavar="B.json", help="the newer ones")
    parser.add_argument("-j", "--json", action="store_true", help="a JSON object a line")
    parser.add_argument("--bound", type=float, metavar="PERCENT",
                        help="fail when a cost grew, or a ratio of bench port fell, by more, "
                             "be it noise or not")
    try:
        return compare(parser.parse_args())
    except Unusable as error:
        sys.stdout.flush()
        print(f"compare: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
