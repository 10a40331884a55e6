# SPDX-License-Identifier: BSD-3-Clause
"""sluicectl as a user meets it: what it prints, and with which exit code it ends."""

import json
import os
import re
import socket
import subprocess
import threading
import time

import pytest

SLUICECTL = os.environ["SLUICECTL"]
FAKE_DAEMON = os.environ["FAKE_DAEMON"]

REASONS = ["rate", "packets", "bits", "share", "erlangs", "retries", "capacity", "connections",
           "shed", "deadline", "breaker", "gateway", "table", "denied"]


def ctl(*words, stdin=subprocess.DEVNULL):
    return subprocess.run([SLUICECTL, *words], stdin=stdin, capture_output=True, text=True,
                          timeout=60, check=False)


def start_daemon(path, tenants):
    daemon = subprocess.Popen([FAKE_DAEMON, path, str(tenants)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert daemon.stdout.readline() == "ready\n"
    return daemon


def stop_daemon(daemon):
    daemon.stdin.close()
    assert daemon.wait(timeout=10) == 0
    daemon.stdout.close()


@pytest.fixture
def daemon_socket(tmp_path):
    path = str(tmp_path / "s")
    daemon = start_daemon(path, 4)
    yield path
    stop_daemon(daemon)


@pytest.fixture
def answers_with(tmp_path):
    """A socket on which one client gets exactly these bytes, whatever it asks."""
    path = str(tmp_path / "odd")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    threads = []

    def serve(answer):
        def run():
            client, _ = listener.accept()
            client.recv(4096)
            client.sendall(answer)
            client.close()
        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return path

    yield serve
    for thread in threads:
        thread.join(timeout=10)
    listener.close()


def blocks(text):
    """The blocks of a listing: title ("" for the first) -> lines."""
    result = {}
    for block in text.rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        result[lines.pop(0) if result else ""] = lines
    return result


def rows(lines):
    """Cells of a table whose columns are two or more blanks apart."""
    return [re.split(r" {2,}", line.strip()) for line in lines]


def test_help_and_version_need_no_daemon():
    helped = ctl("--help")
    assert helped.returncode == 0
    assert helped.stdout.startswith("usage: sluicectl [-s SOCKET] [-j] VERB [ARGUMENT...]\n")
    assert ctl("-h").stdout == helped.stdout
    version = ctl("--version")
    assert version.returncode == 0
    assert re.fullmatch(r"sluicectl \d+\.\d+\.\d+\n", version.stdout)


@pytest.mark.parametrize("words", [[], ["-x", "status"], ["tenants", ""], ["tenants", "a b"],
                                   ["set", "tenant", "acme", "window=5\nstatus"],
                                   ["tenants", "x" * 4096], ["-s"],
                                   ["status", "--steps"], ["workers", "--steps", "1s", "2s"],
                                   ["workers", "--steps=1s", "2s"], ["--steps"]])
def test_wrong_usage_is_2_without_asking_anyone(words):
    result = ctl(*words)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr != ""


def test_usage_told_by_the_daemon_is_2(daemon_socket):
    result = ctl("-s", daemon_socket, "reload")
    assert result.returncode == 2
    assert result.stderr == "sluicectl: reload: there is no such verb, `help` lists them\n"


@pytest.mark.parametrize("words, code, says", [
    (["window = 5"], 2, "'window = 5': write KEY=VALUE without blanks"),
    (["window", "=", "5"], 2, 'tenants.acme.window: "window" is no KEY=VALUE, without blanks ('),
    (["window=", "5"], 1, "tenants.acme.window: no value follows the = (without blanks)"),
    (["window", "=5"], 2, 'tenants.acme.window: "window" is no KEY=VALUE, without blanks ('),
])
def test_blanks_around_the_equals_sign_are_named(daemon_socket, words, code, says):
    result = ctl("-s", daemon_socket, "set", "tenant", "acme", *words)
    assert result.returncode == code
    assert result.stderr.startswith(f"sluicectl: {says}")


def test_rejected_is_1(daemon_socket):
    result = ctl("-s", daemon_socket, "tenants", "nobody")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "sluicectl: nobody: there is no such tenant\n"

    result = ctl("-s", daemon_socket, "set", "tenant", "acme", "window=99999999999", "-j")
    assert result.returncode == 1
    error = json.loads(result.stdout)["error"]
    assert error["code"] == "range"
    assert error["key"] == "tenants.acme.window"
    assert "16777216" in error["range"]
    assert "tenants.acme.window" in result.stderr


def test_nobody_there_is_3(tmp_path):
    path = str(tmp_path / "none")
    result = ctl("-s", path, "status")
    assert result.returncode == 3
    assert result.stderr == (f"sluicectl: {path}: No such file or directory "
                             "(is sluiced running?)\n")
    assert ctl("-s", "/tmp/" + "x" * 200, "status").returncode == 3


@pytest.mark.parametrize("answer, why", [
    (b"", "cut short after 0 bytes"),
    (b'{"version":1,"tena', "cut short after 18 bytes"),
    (b'{"version":1,"tenants":[]}', "cut short after 26 bytes"),
    (b'{"version":1,"tena\n', "not an answer of sluiced"),
    (b"\x00\xff\xfe\n", "not an answer of sluiced"),
    (b"[1,2]\n", "not an answer of sluiced"),
    (b'{"version":2}\n', "not an answer of sluiced"),
])
@pytest.mark.parametrize("json_too", [[], ["-j"]])
def test_no_whole_answer_is_3(answers_with, answer, why, json_too):
    result = ctl("-s", answers_with(answer), "tenants", *json_too)
    assert result.returncode == 3
    assert result.stdout == ""
    assert why in result.stderr


def test_json_is_the_line_as_it_came(daemon_socket):
    result = ctl("tenants", "acme", "-j", "-s", daemon_socket)
    assert result.returncode == 0
    assert result.stdout.count("\n") == 1
    tenant, = json.loads(result.stdout)["tenants"]
    assert tenant["bytes"]["out"] == 9007199254780993
    assert list(tenant["refused"]) == REASONS


def test_tenants_as_tables(daemon_socket):
    shown = blocks(ctl("-s", daemon_socket, "tenants").stdout)
    assert list(shown) == ["", "work", "traffic", "refused, by reason"]
    assert shown[""][:3] == [
        "name     class    attempts  burst  tokens    packets       bits    erlangs  left, s  retries     window  used  peak  debt",
        "default  bulk    unlimited      -       -  unlimited  unlimited  unlimited        -       10  unlimited     7     8     0",
        "acme     normal       20/s     10       3   3000/min  200Mbit/s        2.5    -1.75      9.7          5    10    11     5",
    ]
    assert len(shown[""]) == 5
    refused = rows(shown["refused, by reason"])
    assert refused[0] == ["name"] + REASONS
    assert refused[2] == ["acme"] + [str(40101 + i) for i in range(14)]
    work = rows(shown["work"])
    assert work[0] == ["name", "offered", "attempts", "in packets", "waited", "cancelled",
                       "refused", "admitted", "adopted", "useful", "late", "unfinished"]
    assert work[2] == ["acme", "40010", "40001", "40002", "40011", "40012",
                       str(sum(40101 + i for i in range(14))), "40003", "40004", "40013", "40014",
                       "40015"]
    assert rows(shown["traffic"])[2] == ["acme", "40005", "40006", "40007", "40008", "40009",
                                         "9007199254780993"]


def test_services_in_a_line_each(daemon_socket):
    shown = blocks(ctl("-s", daemon_socket, "services").stdout)
    assert list(shown) == ["", "refused, by reason"]
    refused = [str(sum(base + i for i in range(14))) for base in (1101, 601)]
    assert rows(shown[""]) == [
        ["name", "unit", "slots", "waiting", "shed, %", "breaker", "offered", "useful", "late",
         "unfinished", "refused", "p99, ms"],
        ["web", "connection", "61/62", "12/16", "40.1/10/0", "half-open", "1007", "1014", "1015",
         "1016", refused[0], "9.009"],
        ["dns", "datagram", "60", "0/0", "0/0/0", "-", "507", "514", "515", "516", refused[1],
         "-"]]
    assert max(map(len, shown[""])) <= 120
    assert rows(shown["refused, by reason"])[2][:3] == ["dns", "601", "602"]


def test_one_service_in_full(daemon_socket):
    shown = {title: rows(lines) for title, lines in
             blocks(ctl("-s", daemon_socket, "services", "web").stdout).items()}
    assert shown[""][1] == ["web", "10.9.0.10,2001:db8::10", "tcp", "80,8000-8099", "acme",
                            "connection", "rst", "100000/s"]
    assert shown["room"][1] == ["62", "61", "65", "0", "496", "63", "4", "170/s", "168.4", "1000"]
    assert shown["shares of the window"][1] == ["acme", "2", "5", "3", "4"]
    assert shown["wait queue"][1] == ["16", "12", "87.654", "100", "adaptive", "1008", "1009"]
    assert shown["classes"][1:] == [["bulk", "100.3", "0.4013", "-", "-"],
                                    ["normal", "40", "0.1", "0", "3"],
                                    ["critical", "20", "0", "4", "2"]]
    assert shown["shedding, breaker, health checks"][1] == [
        "0.98", "20/s", "0.25", "half-open", "auto", "3", "1.5", "10/s", "1011"]
    assert shown["attempts"][1] == ["1007", "1001", "1002", str(sum(1101 + i for i in range(14))),
                                    "1005", "1006", "1010", "1003", "1004", "1011"]
    assert shown["how slots ended"][1] == ["1200", "1201", "1202", "1203", "1012", "1013"]
    assert shown["what became of admitted work"][1:] == [
        ["useful", "1014", "1"], ["late", "1015", "1.002"], ["unfinished", "1016", "1.004"]]
    assert shown["how long it took, since the start"][1:] == [
        ["connect", "10", "1.001", "2.002", "3.003"], ["reply", "11", "1.001", "2.002", "6.006"],
        ["effective", "12", "1.001", "2.002", "9.009"]]
    assert shown["demand, and what is promised"][1] == ["12.3", "300", "2.6", "13", "8", "5.882",
                                                        "41"]
    assert shown["objective, and how fast its budget burns"][1] == [
        "99.9", "300", "20.5", "19.5", "18.5", "17.5", "16.5", "blazing"]
    assert shown["refused, by reason"][1][:3] == ["web", "1101", "1102"]


def test_what_one_service_lacks_takes_no_room(daemon_socket):
    whole = blocks(ctl("-s", daemon_socket, "services", "web").stdout)
    shown = blocks(ctl("-s", daemon_socket, "services", "dns").stdout)
    assert set(whole) - set(shown) == {"shares of the window",
                                       "objective, and how fast its budget burns"}
    assert rows(shown["room"])[1] == ["unlimited", "60", "64", "0", "unlimited", "0", "0", "-",
                                      "-", "-"]


def test_queues_as_a_table(daemon_socket):
    shown = rows(ctl("-s", daemon_socket, "queues").stdout.splitlines())
    assert shown[0] == ["place", "of", "bound", "fill", "oldest, ms", "fill from"]
    assert shown[2] == ["receive", "net_af_packet1,iface=g1 queue 0", "-", "61", "-", "burst"]
    assert shown[3] == ["held", "worker 0", "1012", "1008", "-", "-"]
    assert shown[9] == ["wait", "web", "16", "12", "87.654", "-"]
    assert shown[-1] == ["clients", "sluiced", "16", "1", "-", "-"]
    assert ctl("-s", daemon_socket, "queues", "web").returncode == 2


def test_workers_as_tables(daemon_socket):
    answer = json.loads(ctl("-s", daemon_socket, "workers", "-j").stdout)
    shown = blocks(ctl("-s", daemon_socket, "workers").stdout)
    assert rows(shown[""])[1] == ["1", "11", "0", "0.1234", "250000", "1834.3", "1010", "65536",
                                  "1009", "1007", "6"]
    assert rows(shown["packets: received + handed in + made = all the others"])[1] == [
        "1", "1001", "1002", "1011", "13266", str(sum(1201 + i for i in range(27))), "1003",
        "1004", "1005", "1006", "1008"]
    for title, member in (("forwarded, by cause", "passes"), ("dropped, by reason", "dropped")):
        assert rows(shown[title]) == [["lcore", "1", "2"]] + [
            [name, str(count), str(count + 1000)]
            for name, count in answer["workers"][0][member].items()]


@pytest.mark.parametrize("words", [["--steps", "20ms"], ["--steps=20ms"], ["--steps"]])
def test_steps_are_waited_for_and_shown(daemon_socket, words):
    start = time.monotonic()
    result = ctl("-s", daemon_socket, "workers", *words)
    assert time.monotonic() - start >= (1 if words == ["--steps"] else 0.02)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "cycles per packet, by step"
    assert rows(lines[1:]) == [
        ["lcore", "bursts", "packets/burst", "receive", "parse", "hand_over", "find_flows",
         "classify", "judge", "act", "total"],
        ["1", "16", "31.2", "20", "40", "60", "80", "100", "120", "140", "560.1"],
        ["2", "0", *["-"] * 9]]


def test_steps_as_json_are_those_of_the_listing(daemon_socket):
    assert "steps" not in json.loads(ctl("-s", daemon_socket, "workers", "-j").stdout)["workers"][0]
    shown = ctl("-s", daemon_socket, "workers", "--steps", "1ms", "-j").stdout
    assert shown == ctl("-s", daemon_socket, "workers", "-j").stdout
    worker, idle = json.loads(shown)["workers"]
    assert list(worker["steps"]) == ["receive", "parse", "hand_over", "find_flows", "classify",
                                     "judge", "act"]
    assert sum(step["cycles"] for step in worker["steps"].values()) == worker["sampled"]["cycles"]
    assert idle["sampled"]["bursts"] == 0


def test_steps_for_too_long_are_rejected(daemon_socket):
    start = time.monotonic()
    result = ctl("-s", daemon_socket, "workers", "--steps", "2min")
    assert time.monotonic() - start < 30
    assert result.returncode == 1
    assert result.stderr == "sluicectl: --steps: a duration as 500ms or 2s (1ms..60s)\n"


def test_ports_as_tables(daemon_socket):
    shown = blocks(ctl("-s", daemon_socket, "ports").stdout)
    assert rows(shown[""])[2] == ["net_af_packet1,iface=g1", "front", "inside", "net_af_packet",
                                  "down", "11", "21", "31", "41", "51"]
    assert rows(shown["queues"])[1:] == [
        ["net_af_packet0,iface=g0", "0", "60", "driver", "70"],
        ["net_af_packet1,iface=g1", "0", "61", "burst", "71"]]


def test_xdp_as_tables(daemon_socket):
    text = ctl("-s", daemon_socket, "xdp", "status").stdout
    shown = text.split("\n\n")
    assert [rows([line])[0] for line in shown[0].splitlines()[1:]] == [
        ["front", "outside", "g0", "required", "guard", "native", "41", "1.25", "redirect",
         "200ms", "standby", "/sys/fs/bpf/sluice/v1"],
        ["front", "inside", "g1", "required", "standby", "generic", "42", "-", "redirect",
         "200ms", "standby", "/sys/fs/bpf/sluice/v1"],
        ["back", "outside", "-", "off", "off", "-", "-", "-", "pass", "50ms", "detach", "-"]]
    assert shown[1:] == ["0000:03:00.0: no interface in the kernel\n"]

    counters = blocks(ctl("-s", daemon_socket, "xdp", "counters").stdout)
    answer = json.loads(ctl("-s", daemon_socket, "xdp", "counters", "-j").stdout)["counters"]
    assert rows(counters[""])[1] == ["front", "outside", "g0", "1001", "1002", "1003", "1004",
                                     "1005", str(sum(answer[0]["dropped"].values()))]
    assert rows(counters["dropped, by reason"])[1:] == [
        [name, str(count), str(answer[1]["dropped"][name])]
        for name, count in answer[0]["dropped"].items()]
    workers = blocks(ctl("-s", daemon_socket, "workers").stdout)
    assert rows(workers["XDP: received = socket + passed + redirected + dropped"])[2][:5] == [
        "g1", "2001", "2003", "2004", "2005"]
    status = blocks(ctl("-s", daemon_socket, "status").stdout)
    assert rows(status["XDP"])[1:] == [["front", "outside", "g0", "guard", "native"],
                                       ["front", "inside", "g1", "standby", "generic"],
                                       ["back", "outside", "-", "off", "-"]]


def test_status_and_help_as_tables(daemon_socket):
    shown = blocks(ctl("-s", daemon_socket, "status").stdout)
    facts = dict(rows(shown[""])[1:])
    assert facts["policy epoch"] == "7"
    assert facts["policy epoch, worker 1"] == "7"
    assert facts["TSC, Hz: measured"] == "2100000001"
    assert facts["clock error, ns"] == "-42"
    assert [facts[f"gateway sheds of {name}"] for name in ("bulk", "normal", "critical")] == [
        "0.98", "0.1235", "0"]
    assert rows(shown["gates"])[1] == ["front", "net_af_packet0,iface=g0",
                                       "net_af_packet1,iface=g1"]
    helped = rows(ctl("-s", daemon_socket, "help").stdout.splitlines())
    assert [row[0] for row in helped[1:]] == ["status", "tenants", "services", "workers", "ports",
                                              "queues", "set", "xdp status", "xdp counters",
                                              "deny add", "deny del", "deny list", "help"]


def test_set_shows_what_changed_and_only_that(daemon_socket):
    result = ctl("-s", daemon_socket, "set", "tenant", "acme", "quota.attempts=200/s", "window=50")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "tenant acme, policy epoch 8"
    assert rows(lines[1:]) == [["changed", "from", "to"],
                               ["quota.attempts.rate", "20/s", "200/s"],
                               ["window", "5", "50"]]
    tenant, = json.loads(ctl("-s", daemon_socket, "tenants", "acme", "-j").stdout)["tenants"]
    assert tenant["quota"]["attempts"]["rate"] == "200/s"
    assert tenant["window"] == {"limit": 50, "used": 10, "peak": 11, "debt": 0}


def test_set_service_takes_a_ramp_in_plain_words(daemon_socket):
    result = ctl("-s", daemon_socket, "set", "service", "web", "admit=10%", "over", "60s",
                 "wait.places=20")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "service web, policy epoch 8"
    assert [line.split(None, 2) for line in lines[1:]] == [
        ["changed", "from", "to"], ["wait.places", "16", "20"], ["admit", "100%", "10% over 60s"]]


def test_what_was_denied_is_told_and_listed(daemon_socket):
    def deny(*words):
        result = ctl("-s", daemon_socket, "deny", *words)
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout.splitlines()

    assert rows(deny("list")) == [["prefix", "expires in"]]
    assert deny("add", "10.1.2.3/16", "2001:db8::/32") == [
        "added 2, 2 denied, policy epoch 8", "10.1.2.3/16 has host bits, 10.1.0.0/16 is meant"]
    assert deny("add", "10.1.0.0/16", "10.3.0.1", "10.3.0.1", "for", "1h") == [
        "added 1, renewed 1, repeated 1, 3 denied, policy epoch 9"]
    assert rows(deny("list")) == [["prefix", "expires in"], ["10.1.0.0/16", "3600s"],
                                  ["10.3.0.1/32", "3600s"], ["2001:db8::/32", "-"]]
    assert deny("del", "10.3.0.1") == ["deleted 1, 2 denied, policy epoch 10"]
    listed = json.loads(ctl("-s", daemon_socket, "deny", "list", "-j").stdout)
    assert listed == {"version": 1, "denied": [{"prefix": "10.1.0.0/16", "expires_in": "3600s"},
                                               {"prefix": "2001:db8::/32", "expires_in": None}]}


@pytest.mark.parametrize("words, code, says", [
    (["add", "10.1.0.0/40"], 1,
     "10.1.0.0/40: is no prefix (10.1.0.0/16, 2001:db8::/32 or an address)"),
    (["add", "10.1.0.0/16", "for", "1"], 1, 'for: "1" has no unit, such as ms or s (1s..8760h)'),
    (["add"], 2, "usage: deny add PREFIX... [for DURATION]"),
    (["add", "10.1.0.0/16", "for"], 2,
     "for: a time is missing: deny add PREFIX... for 10min (1s..8760h)"),
    (["add", "10.1.0.0/16", "for", "1h", "10.2.0.0/16"], 2,
     "for: nothing comes behind the time: deny add PREFIX... for 10min (1s..8760h)"),
    (["del", "10.1.0.0/16"], 1, "10.1.0.0/16: is not on the deny list, nothing is deleted"),
])
def test_what_cannot_be_denied_is_named(daemon_socket, words, code, says):
    result = ctl("-s", daemon_socket, "deny", *words)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr == f"sluicectl: {says}\n"


@pytest.mark.parametrize("words, says", [
    (["deny"], "usage: deny add|del|list"),
    (["deny", "drop", "10.1.0.0/16"], "usage: deny add|del|list"),
    (["xdp"], "usage: xdp status|counters"),
    (["xdp", "foo"], "usage: xdp status|counters"),
    (["xd", "status"], "xd: there is no such verb, `help` lists them"),
])
def test_a_group_of_verbs_names_its_own(daemon_socket, words, says):
    result = ctl("-s", daemon_socket, *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"sluicectl: {says}\n"


def test_a_key_given_twice_is_2(daemon_socket):
    result = ctl("-s", daemon_socket, "set", "tenant", "acme", "window=5", "window=6")
    assert result.returncode == 2
    assert result.stderr == "sluicectl: tenants.acme.window: is given twice\n"


def test_a_full_disk_is_told(daemon_socket):
    with open("/dev/full", "w", encoding="ascii") as full:
        result = subprocess.run([SLUICECTL, "-s", daemon_socket, "status"], stdout=full,
                                stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr == "sluicectl: cannot write: No space left on device\n"


def test_case_K03_ten_thousand_tenants_come_whole(tmp_path):
    path = str(tmp_path / "big")
    daemon = start_daemon(path, 10000)
    slow = socket.socket(socket.AF_UNIX)
    slow.connect(path)
    slow.sendall(b"tenants\n")
    text = bytearray(slow.recv(1))
    assert ctl("-s", path, "status").returncode == 0  # nobody waits for the slow reader
    while chunk := slow.recv(4096):
        text += chunk
    slow.close()

    result = ctl("-s", path, "tenants", "-j")
    assert result.returncode == 0
    assert result.stdout == text.decode()
    tenants = json.loads(result.stdout)["tenants"]
    assert len(tenants) == 10000
    assert tenants[9999]["attempts"] == 100000001
    table = blocks(ctl("-s", path, "tenants").stdout)
    assert len(table[""]) == 10001
    assert len(table["refused, by reason"]) == 10001
    stop_daemon(daemon)


def test_case_K03_it_knows_nothing_of_eal():
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(
        ["readelf", "-d", SLUICECTL], capture_output=True, text=True, check=True).stdout)
    assert "libjansson.so.4" in needed
    assert not [name for name in needed if name.startswith("librte")]
