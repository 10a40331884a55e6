# SPDX-License-Identifier: BSD-3-Clause
"""sluice-sim as a program: what it takes, what it prints, and that both are always the same."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

SLUICE_SIM = os.environ["SLUICE_SIM"]
HERE = pathlib.Path(__file__).parent
DOOR = HERE / "door.conf"

REASONS = ["rate", "packets", "bits", "share", "erlangs", "retries", "capacity", "connections", "shed",
           "deadline", "breaker", "gateway", "table", "denied", "full"]
COLUMNS = (["offered", "attempts", "admitted", "waiting", "useful", "late", "unfinished"]
           + ["refused_" + reason for reason in REASONS]
           + ["shed", "queue", "age_ms", "p50_ms", "p99_ms", "eff_p95_ms", "eff_p99_ms"])

needs_gnuplot = pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not installed")


def sim(*arguments, code=0, **settings):
    """What it prints: (stdout, stderr) or, if all is well, stdout alone."""
    done = subprocess.run([SLUICE_SIM, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          env={**os.environ, **settings}, check=False)
    assert done.returncode == code, done.stderr
    if code:
        assert done.stdout == ""
        return done.stderr
    assert done.stderr == ""
    return done.stdout


def run(*arguments, **settings):
    return sim("run", *arguments, **settings)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("arguments", [
    [], ["nonsense"], ["list", "all"], ["run"], ["run", DOOR, "again"], ["run", DOOR, "--series"],
    ["run", DOOR, "--nonsense"], ["run", DOOR, "--jobs", "0"], ["run", DOOR, "--jobs", "many"],
    ["run", DOOR, "--seed", "-1"], ["run", DOOR, "--set", "seed"], ["run", DOOR, "--set", "seed="],
    ["run", DOOR, "--sweep", "seed"], ["run", DOOR, "--sweep", "seed=1,,2"],
    ["run", DOOR, "--sweep", "seed=" + ",".join(["1"] * 257)], ["run", DOOR, "--plot", ""],
])
def test_usage(arguments):
    assert sim(*arguments, code=2)


@pytest.mark.parametrize("arguments", [
    ["run", DOOR], ["run", DOOR, "--csv"], ["run", DOOR, "-j"], ["list"], ["--version"], ["--help"],
    ["plan", "--capacity", "170/s", "--slots", "4"], ["plan", "-j", "--capacity", "170/s", "--slots", "4"]],
    ids=lambda words: " ".join(map(str, words)))
def test_what_cannot_be_written_is_told(arguments):
    for script, why in [('exec "$@" >/dev/full', "No space left on device"),
                        ('exec "$@" >&-', "Bad file descriptor")]:
        done = subprocess.run(["sh", "-c", script, "sh", SLUICE_SIM, *map(str, arguments)],
                              stderr=subprocess.PIPE, text=True, timeout=100, check=False)
        assert (done.returncode, done.stderr) == (1, f"sluice-sim: cannot write: {why}\n")


def test_help_and_version():
    assert "--sweep KEY=A,B,C" in sim("--help")
    assert sim("run", "--help") == sim("-h")
    assert sim("--version").startswith("sluice-sim ")


def test_a_scenario_that_is_not_there(tmp_path):
    error = run("nowhere", code=2, SLUICE_SCENARIOS=str(tmp_path))
    assert "nowhere" in error and str(tmp_path) in error
    assert "nowhere.conf" in run(tmp_path / "nowhere.conf", code=2)


def test_mistakes_in_a_scenario(tmp_path):
    wrong = tmp_path / "wrong.conf"
    wrong.write_text(DOOR.read_text() + "nonsense = 1;\n")
    line = len(wrong.read_text().splitlines())
    assert f"wrong.conf:{line}: nonsense" in run(wrong, code=3)
    assert "nonsense" in run(DOOR, "--set", "nonsense=1", code=3)
    assert "nonsense" in run(DOOR, "--sweep", "nonsense=1,2", code=3)
    assert "duration" in run(DOOR, "--sweep", "duration=1s,-1s", code=3)
    wrong.write_text(DOOR.read_text() + 'columns = ["offered", "p95=eff_p95"];\n')
    assert "eff_p95 is neither" in run(wrong, code=3)


def test_names_stand_for_files_of_the_shelf(tmp_path):
    shutil.copy(DOOR, tmp_path / "door.conf")
    (tmp_path / "trace.txt").write_text("0.5\n")
    assert sim("list", SLUICE_SCENARIOS=str(tmp_path)) == "door                 A door before four servers.\n"
    assert run("door", "--csv", SLUICE_SCENARIOS=str(tmp_path)) == run(DOOR, "--csv")
    (tmp_path / "wrong.conf").write_text("nonsense = 1;\n")
    done = subprocess.run([SLUICE_SIM, "list"], capture_output=True, text=True, check=False,
                          env={**os.environ, "SLUICE_SCENARIOS": str(tmp_path)})
    assert done.returncode == 3 and "wrong.conf:1: nonsense" in done.stderr and "door" in done.stdout
    assert "absent" in sim("list", code=1, SLUICE_SCENARIOS=str(tmp_path / "absent"))


def test_columns_are_those_of_the_interface():
    assert run(DOOR, "--csv").splitlines()[0] == ",".join(COLUMNS)
    assert run(DOOR, "--csv", "--series").splitlines()[0] == ",".join(["t_s"] + COLUMNS)
    assert (run(DOOR, "--csv", "--sweep", "arrivals.0.rate=10/s,20/s").splitlines()[0]
            == ",".join(["arrivals.0.rate"] + COLUMNS))


def test_intervals_add_up_to_the_run():
    whole = rows(run(DOOR, "--csv"))[0]
    series = rows(run(DOOR, "--csv", "--series"))
    assert [row["t_s"] for row in series[:5]] == ["0.0", "1.0", "2.0", "3.0", "4.0"]
    assert int(whole["offered"]) > 1000 and int(whole["refused_capacity"]) > 10
    for name in COLUMNS:
        values = [row[name] for row in series if row[name]]
        if name in ("waiting", "queue"):
            assert int(whole[name]) >= max(map(int, values))
        elif name in ("shed", "age_ms"):
            assert float(whole[name]) == max(map(float, values))
        elif not name.endswith("_ms"):
            assert int(whole[name]) == sum(map(int, values)), name


def test_columns_hold_what_their_names_say():
    arguments = ["--set", "requests.0.deadline=40ms", "--set", "clients.tries=2"]
    row, summary = rows(run(DOOR, "--csv", *arguments))[0], json.loads(run(DOOR, "-j", *arguments))["runs"][0]["summary"]
    assert summary["late.small"] > 0 or summary["unfinished.small"] > 0
    assert len({summary[name] for name in ("offered", "attempts", "admitted", "useful")}) == 4
    for name, value in row.items():
        if name.endswith("_ms") and name != "age_ms":
            assert float(value) == summary[name.replace("_ms", "_s")] * 1000
        elif name in ("waiting", "queue", "shed"):
            assert float(value) == summary["max_" + name]
        elif name != "age_ms":
            assert float(value) == summary[name]


def test_every_piece_of_work_ends_once():
    summary = json.loads(run(DOOR, "-j"))["runs"][0]["summary"]
    assert summary["offered"] == sum(summary[end] for end in ("useful", "late", "unfinished", "refused", "open"))
    assert summary["open"] == 0
    assert summary["refusals"] == sum(summary["refused_" + reason] for reason in REASONS)
    for end in ("useful", "late", "unfinished", "refused"):
        assert summary[end] == summary[end + ".small"] + summary[end + ".large"]
    assert summary["useful.small"] > summary["useful.large"] > 0


def test_a_run_that_does_not_end_is_cut_aloud(tmp_path):
    """150/s of 100/s, for ten seconds: it takes fifteen. Of 10/s it would take 150."""
    scenario = tmp_path / "long.conf"
    scenario.write_text('duration = "10s"; end = "play"; arrivals = ( { rate = "150/s"; spacing = "even"; } );\n'
                        'requests = ( { steps = ( { at = "web"; time = "10ms"; } ); } );\n'
                        'stages = ( { name = "web"; servers = 1; } );\n')
    assert rows(run(scenario, "--csv"))[0]["useful"] == "1500"
    done = subprocess.run([SLUICE_SIM, "run", scenario, "--csv", "--set", "requests.0.steps.0.time=101ms"],
                          capture_output=True, text=True, timeout=100, check=True)
    assert done.stderr == (f"sluice-sim: {scenario}: warning: cut at 100 s with 510 pieces of work under way, "
                           'though end = "play"\n')
    assert rows(done.stdout)[0]["useful"] == "990"
    assert rows(run(scenario, "--csv", "--set", "requests.0.steps.0.time=101ms", "--set", "end=cut"))


def test_set_and_sweep_change_what_is_run():
    few, many = rows(run(DOOR, "--csv", "--sweep", "arrivals.0.rate=10/s,100/s"))
    assert (few["arrivals.0.rate"], many["arrivals.0.rate"]) == ("10/s", "100/s")
    del many["arrivals.0.rate"]
    assert many == rows(run(DOOR, "--csv", "--set", "arrivals.0.rate=100/s"))[0]
    assert int(few["offered"]) * 5 < int(many["offered"])


VARIANTS = """
variants = ( { name = "open"; set = ["gate=none"]; }, { name = "shut"; set = ["stages.web.servers=1"]; } );
sweep = { key = "arrivals.0.rate"; values = ["2/s", "100/s"]; };
"""


@pytest.fixture(name="family")
def fixture_family(tmp_path):
    family = tmp_path / "family.conf"
    family.write_text(DOOR.read_text() + VARIANTS)
    return family


def test_variants_with_each_value(family):
    table = rows(run(family, "--csv"))
    assert [(row["variant"], row["arrivals.0.rate"]) for row in table] == [
        ("open", "2/s"), ("open", "100/s"), ("shut", "2/s"), ("shut", "100/s")]
    assert [int(row["refused_capacity"]) > 0 for row in table] == [False, False, False, True]
    # The command line has the last word.
    table = rows(run(family, "--csv", "--set", "stages.web.servers=8", "--sweep", "seed=5"))
    assert [(row["variant"], row["seed"]) for row in table] == [("open", "5"), ("shut", "5")]
    assert table[1]["offered"] == rows(run(DOOR, "--csv", "--seed", 5, "--set", "stages.web.servers=8"))[0]["offered"]
    assert table[1]["useful"] == rows(run(DOOR, "--csv", "--seed", 5, "--set", "stages.web.servers=8"))[0]["useful"]


def test_a_variant_sets_nothing_back_by_another_name(family):
    """stages.web.servers=1 of the variant, stages.0.servers of the command line."""
    table = rows(run(family, "--csv", "--set", "stages.0.servers=8"))
    assert [table[3]["useful"]] == [row["useful"] for row in rows(run(
        DOOR, "--csv", "--set", "stages.0.servers=8", "--set", "arrivals.0.rate=100/s"))]
    shut = rows(run(family, "--csv", "--sweep", "stages.0.servers=1,8"))[2:]
    assert [int(row["useful"]) for row in shut] == [
        int(rows(run(DOOR, "--csv", "--set", f"stages.0.servers={n}"))[0]["useful"]) for n in (1, 8)]
    assert shut[0]["useful"] != shut[1]["useful"]


@pytest.mark.parametrize("arguments, other", [
    (["--set", 'stages=( { name = "web"; servers = 8; } )'], 'stages=( { name = "web"; servers = 8; } )'),
    (["--sweep", 'stages.0={ name = "web"; servers = 8; }'], "stages.0")])
def test_a_variant_sets_no_part_of_what_the_command_line_sets(family, arguments, other):
    assert run(family, *arguments, code=3) == (
        f"sluice-sim: {family}: variant shut: stages.web.servers=1 does not go with {other}: "
        "one is within the other\n")


def test_a_variant_replaces_nothing_that_the_command_line_sets_within(tmp_path):
    family = tmp_path / "family.conf"
    family.write_text(DOOR.read_text() + """
variants = ( { name = "slow"; set = ["stages.0={ name = \\"web\\"; servers = 1; }"]; } );
sweep = { key = "stages.web.servers"; values = [1, 2]; };
""")
    error = (f'sluice-sim: {family}: variant slow: stages.0={{ name = "web"; servers = 1; }} does not go with '
             "stages.web.servers%s: one is within the other\n")
    assert run(family, code=3) == error % ""
    assert run(family, "--sweep", "seed=1,2", "--set", "stages.web.servers=3", code=3) == error % "=3"


def test_a_variant_without_a_gate_has_none(family):
    window = "gate.services.web.window"
    free, shut = rows(run(family, "--csv", "--set", f"{window}=1", "--sweep", "arrivals.0.rate=100/s"))
    assert int(free["refused_capacity"]) == 0 < int(shut["refused_capacity"])
    assert int(free["admitted"]) == int(free["attempts"])
    family.write_text(DOOR.read_text() + f'variants = ( {{ name = "small"; set = ["{window}=1"]; }} );')
    assert run(family, "--set", "gate=none", code=3) == (
        f"sluice-sim: {family}: variant small: {window}=1 does not go with gate=none: one is within the other\n")


def test_columns_of_the_scenario(family):
    family.write_text(family.read_text() + 'columns = ["arch=variant", "rate=sweep", "n=offered", "eff_p95_s", '
                      '"small=useful.small", "places=stages.web.servers", "window=gate.services.0.window"];\n'
                      .replace(', "window=gate.services.0.window"', ""))
    lines = run(family, "--csv").splitlines()
    assert lines[0] == "arch,rate,n,eff_p95_s,small,places"
    summaries = [r["summary"] for r in json.loads(run(family, "-j"))["runs"]]
    assert lines[1:] == [
        f'{arch},{rate},{s["offered"]},{s["eff_p95_s"]!r},{s["useful.small"]},{servers}'
        for (arch, rate, servers), s in zip([("open", "2/s", 4), ("open", "100/s", 4), ("shut", "2/s", 1),
                                             ("shut", "100/s", 1)], summaries)]


def test_the_same_bytes_again_and_with_more_at_once(family):
    for form in (["--csv"], ["--csv", "--series"], ["-j", "--series"], []):
        alone = run(family, *form, "--jobs", 1)
        assert alone == run(family, *form, "--jobs", 2) == run(family, *form, "--jobs", 4)
    assert run(DOOR, "--csv", "--seed", 1) == run(DOOR, "--csv") != run(DOOR, "--csv", "--seed", 2)


def test_json(family):
    found = json.loads(run(family, "-j", "--series", "--seed", 7))
    assert (found["version"], found["scenario"], found["seed"]) == (1, str(family), 7)
    assert found["sweep_key"] == "arrivals.0.rate"
    assert [(r["variant"], r["sweep"]) for r in found["runs"]][2] == ("shut", "2/s")
    last = found["runs"][-1]
    assert list(last["series"][0]) == ["t_s"] + COLUMNS
    assert sum(row["offered"] for row in last["series"]) == last["summary"]["offered"]
    single = json.loads(run(DOOR, "-j", "--set", "arrivals.0.step.factor=1"))["runs"][0]
    assert single["variant"] is None and single["summary"]["drain_s"] is None and "series" not in single


@pytest.mark.parametrize("seed", [2**53 + 1, 2**64 - 1, 2**64, "x"])
def test_a_seed_that_no_number_of_json_holds(seed):
    assert (run(DOOR, "-j", "--seed", seed, code=2)
            == f"sluice-sim: --seed: {seed} is no number from 0 to 9007199254740992\n")
    assert "(0..9007199254740992)" in run(DOOR, "-j", "--set", f"seed={seed}", code=3)


def test_the_largest_seed():
    assert json.loads(run(DOOR, "-j", "--seed", 2**53))["seed"] == 2**53
    assert json.loads(run(DOOR, "-j", "--set", f"seed={2**53}"))["seed"] == 2**53


def test_tables(family):
    single, many = run(DOOR), run(family)
    assert single.startswith("A door before four servers.\n")
    for text in ("offered", "of offered", "refused_capacity", "latency, ms", "small", "large"):
        assert text in single
    assert "refused_rate" not in single
    assert "goodput" in many.splitlines()[0] and "ms" in many.splitlines()[1].split()
    assert len({len(line) for line in many.splitlines()}) == 1
    assert [line.split("  ")[0] for line in many.splitlines()[2:]] == ["open", "open", "shut", "shut"]


def texts(path):
    """Of a picture. Fails unless it is well-formed."""
    return " ".join("".join(e.itertext()) for e in xml.etree.ElementTree.parse(path).iter() if e.tag.endswith("text"))


@needs_gnuplot
def test_picture_of_a_run(tmp_path):
    assert run(DOOR, "--csv", "--plot", tmp_path / "run.svg") == run(DOOR, "--csv")
    shown = texts(tmp_path / "run.svg")
    for text in ("offered", "admitted", "useful", "late", "refused: capacity", "waiting in the gate",
                 "in queues of stages", "age of the oldest (right)", "p95", "p99", "shed (right)", "time, s",
                 "work and tries, 1/s", "queue, pieces", "age, ms", "effective latency, ms", "shed, %"):
        assert text in shown, text
    assert "refused: rate" not in shown
    assert "A door before four servers." in shown and "door.conf" in shown and "What the tests" not in shown


@needs_gnuplot
def test_picture_of_a_run_without_a_gate(tmp_path):
    run(DOOR, "--set", "gate=none", "--plot", tmp_path / "run.svg")
    shown = texts(tmp_path / "run.svg")
    assert "in queues of stages" in shown and "p99" in shown
    assert "waiting in the gate" not in shown and "shed (right)" not in shown and "shed, %" not in shown


def test_levels_stand_at_the_end_of_their_interval(tmp_path):
    """A gnuplot that prints what it was told. Rates stand in the middle: two of its columns are times."""
    gnuplot = tmp_path / "gnuplot"
    gnuplot.write_text("#!/bin/sh\nexec cat\n")
    gnuplot.chmod(0o755)
    run(DOOR, "--plot", tmp_path / "run.svg", PATH=f"{tmp_path}:{os.environ['PATH']}")
    script = (tmp_path / "run.svg").read_text()
    data = script.split("$rows << END\n")[1].split("\nEND")[0].splitlines()
    series = rows(run(DOOR, "--csv", "--series"))
    assert [line.split()[:3] for line in data[:2]] == [["0.5", "1", series[0]["offered"]],
                                                       ["1.5", "2", series[1]["offered"]]]
    drawn = dict(re.findall(r"\$rows using (\d:\d+) .*? title '([^']+)'", script.replace(",", "\n")))
    x = {title: using[0] for using, title in drawn.items()}
    ends = {"waiting in the gate", "in queues of stages", "age of the oldest (right)", "shed (right)"}
    assert len(x) >= 10 and {title for title in x if x[title] == "2"} == ends
    assert {title for title in x if x[title] == "1"} == set(x) - ends
    queues = next(using for using, title in drawn.items() if title == "in queues of stages")
    assert [line.split()[int(queues[2:]) - 1] for line in data[:9]] == [row["queue"] for row in series[:9]]


@needs_gnuplot
def test_pictures_of_variants_and_of_a_sweep(family, tmp_path):
    run(family, "--plot", tmp_path / "sweep.svg")
    shown = texts(tmp_path / "sweep.svg")
    for text in ("open", "shut", "goodput, 1/s", "effective p99, ms", "refused tries, %", "arrivals.0.rate, /s"):
        assert text in shown, text
    family.write_text(DOOR.read_text() + VARIANTS.replace("sweep =", "# sweep ="))
    run(family, "--plot", tmp_path / "run.of.svg")
    assert ", open" in texts(tmp_path / "run.of-open.svg")
    assert ", shut" in texts(tmp_path / "run.of-shut.svg")


@needs_gnuplot
def test_names_are_no_commands_of_gnuplot(tmp_path):
    odd = tmp_path / "it's `touch x` \"$(touch x)\"\n<&>.conf"
    shutil.copy(DOOR, odd)
    done = subprocess.run([SLUICE_SIM, "run", odd, "--plot", tmp_path / "it's \".svg"], check=True, cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.stderr == "" and sorted(p.name for p in tmp_path.iterdir()) == sorted([odd.name, "it's \".svg"])
    assert "it's ?touch x?" in texts(tmp_path / "it's \".svg")


@pytest.mark.parametrize("name", ["run.png", "run", "run.svg.gz", ".svg"])
def test_a_picture_is_called_what_it_is(name):
    error = run(DOOR, "--plot", name, code=2)
    assert error == f"sluice-sim: --plot: a picture is SVG, and its name ends with .svg, not {name}\n"


def test_no_gnuplot_no_picture(tmp_path):
    done = subprocess.run([SLUICE_SIM, "run", DOOR, "--csv", "--plot", tmp_path / "run.svg"], check=False,
                          capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1 and "gnuplot" in done.stderr and done.stdout == run(DOOR, "--csv")
    assert not list(tmp_path.iterdir())
