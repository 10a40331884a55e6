# SPDX-License-Identifier: BSD-3-Clause
"""Plots of a comparison, drawn by gnuplot from data that is part of its commands."""
import subprocess

from figures import groups, median, per_refusal_us

STYLE = """\
set terminal svg size 800,500 dynamic font "sans,14" background "#ffffff"
set output "{path}"
set title "{title}"
set xlabel "{xlabel}"
set ylabel "{ylabel}"
set key outside right top
set grid xtics ytics linecolor "#dddddd"
set style data linespoints
"""
LOOKS = {"none": ("#888888", 1), "sluice": ("#0060ad", 7), "haproxy": ("#dd7700", 5),
         "nginx": ("#2a8a2a", 9), "nftables": ("#aa2277", 11)}
OFFERED = "offered, multiple of the capacity of 170 requests/s"


def curve_style(door):
    colour, point = LOOKS[door]
    return f'linecolor "{colour}" linewidth 2 pointtype {point} pointsize 0.8'


def plot(path, curves, words, settings):
    """`curves`: points (x, y) by door; a door without any is left out."""
    curves = {door: points for door, points in curves.items() if points}
    if not curves:
        return
    blocks = "".join(f"${door} << END\n" + "".join(f"{x} {y}\n" for x, y in points) + "END\n"
                     for door, points in curves.items())
    lines = ", ".join(f'${door} title "{door}" {curve_style(door)}' for door in curves)
    commands = f"{STYLE.format(path=path, **words)}{settings}\n{blocks}plot {lines}\n"
    subprocess.run(["gnuplot"], input=commands, text=True, check=True)


def by_multiple(rows, value):
    curves = {}
    for (door, multiple), runs in groups(rows, "door", "multiple").items():
        y = median(runs, value)
        curves.setdefault(door, [])
        if y is not None:
            curves[door].append((multiple, y))
    return curves


def by_second(rows):
    curves = {}
    for (door,), runs in groups(rows, "door").items():
        seconds = range(len(runs[0]["useful_by_second"]))
        curves[door] = [(t, median(runs, lambda row, t=t: row["useful_by_second"][t]))
                        for t in seconds]
    return curves


def field(what):
    return lambda row: row[what]


# File, title, what is on the y axis, value of a row, settings.
BY_MULTIPLE = [
    ("goodput", "Useful replies", "useful replies per second", field("goodput_per_s"),
     "set yrange [0:200]"),
    ("latency", "Effective latency, 99th percentile", "ms (late and unfinished count as 1000)",
     field("eff_p99_ms"), "set logscale y\nset yrange [10:1500]"),
    ("refusal", "Time to refusal, median", "ms", field("refusal_p50_ms"),
     "set logscale y\nset yrange [0.05:2000]"),
    ("cpu", "CPU time for each refusal, without load tool and service", "microseconds",
     per_refusal_us("rest_cpu_s"), "set logscale y"),
]


def draw(folder, steady, spikes):
    multiples = sorted({row["multiple"] for row in steady})
    offered = (f"set logscale x\nset xrange [{multiples[0] / 1.2}:{multiples[-1] * 1.2}]\n"
               "set xtics (" + ", ".join(f'"{m:g}x" {m:g}' for m in multiples) + ")\n")
    for name, title, ylabel, value, settings in BY_MULTIPLE:
        plot(folder / f"{name}.svg", by_multiple(steady, value),
             {"title": title, "xlabel": OFFERED, "ylabel": ylabel}, offered + settings)
    plot(folder / "spike.svg", by_second(spikes),
         {"title": "Useful replies; ten times the capacity is offered from 5 s to 10 s",
          "xlabel": "second of the run in which it was offered",
          "ylabel": "useful replies per second"}, "set yrange [0:200]")
