# SPDX-License-Identifier: BSD-3-Clause
"""What a start makes of what is at its interfaces, and what an end leaves there."""

import pathlib
import shutil
import signal

import pytest

import wire
from lab import until
from programs import attach_foreign, detach_foreign, program_at
from test_life import get, promiscuous

DEVICES = "g0", "g1"
OURS = "sluice_gate"


def pins(lab):
    return pathlib.Path("/sys/fs/bpf", f"{lab.name}-lab")


def names(lab):
    return [program and program[2] for program in (program_at(lab, d) for d in DEVICES)]


def log_of(lab):
    """What daemons of this test have said since the last call."""
    path = lab.folder / "sluiced.log"
    said = path.read_text()
    path.write_text("")
    return said


def check_nothing_is_left(lab):
    assert names(lab) == [None, None]
    assert promiscuous(lab) == {"g0": 0, "g1": 0}
    assert not pins(lab).exists()


@pytest.mark.parametrize("number, after_exit", [
    (signal.SIGTERM, "detach"), (signal.SIGTERM, "standby"), (signal.SIGINT, "detach")])
def test_case_L03_an_exit_leaves_what_it_is_told_to(make_lab, number, after_exit):
    lab = make_lab(port="af_xdp", xdp=["--after-exit", after_exit])
    assert names(lab) == [OURS, OURS]
    assert promiscuous(lab) == {"g0": 1, "g1": 1}
    lab.daemon.signal(number)
    assert lab.daemon.wait(5) == 0
    if after_exit == "detach":
        check_nothing_is_left(lab)
        lab.restart()
        return
    assert names(lab) == [OURS, OURS] and pins(lab).is_dir()
    # What a stand-in shall forward is addressed to others, as for the daemon.
    assert promiscuous(lab) == {"g0": 1, "g1": 1}
    with wire.connect(lab, "10.1.0.1", 80) as client:
        assert get(client) == 200
    # A later daemon that is told so takes it along.
    path = lab.state / "sluice.conf"
    path.write_text(path.read_text().replace('after_exit = "standby"', 'after_exit = "detach"'))
    lab.restart()
    assert lab.stop() == 0
    check_nothing_is_left(lab)
    lab.restart()


def test_case_L03_a_start_after_sigkill_replaces_its_own(make_lab):
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    lab.daemon.signal(signal.SIGKILL)
    assert lab.daemon.wait(5) == -signal.SIGKILL
    left = [program_at(lab, device) for device in DEVICES]
    assert [program[2] for program in left] == [OURS, OURS]
    with wire.connect(lab, "10.1.0.1", 80) as client:
        assert get(client) == 200
    lab.restart()
    assert not set(left) & {program_at(lab, device) for device in DEVICES}
    assert names(lab) == [OURS, OURS]
    assert promiscuous(lab) == {"g0": 1, "g1": 1}


@pytest.mark.parametrize("mode", ["native", "generic"])
def test_case_X01_a_foreign_program_is_left_alone(make_lab, mode):
    if not shutil.which("clang"):
        pytest.skip("clang is missing; see tools/packages")
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    assert lab.stop() == 0
    attach_foreign(lab, "g1", mode)
    foreign = program_at(lab, "g1")
    daemon = lab.start()
    assert daemon.wait(20) == 4
    assert log_of(lab) == (
        f'sluiced: interface g1 has an XDP program that is not ours: id {foreign[1]}, name '
        f'"foreign", {mode} mode; whoever attached it has to take it away\n')
    assert program_at(lab, "g1") == foreign
    assert names(lab) == [None, foreign[2]] and promiscuous(lab) == {"g0": 0, "g1": 0}
    detach_foreign(lab, "g1", mode)
    lab.restart()


def without(*capabilities):
    dropped = ",".join(f"-{name}" for name in capabilities)
    return ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"]


NO_BPFFS = ["unshare", "--mount", "sh", "-c", 'umount /sys/fs/bpf; exec "$@"', "sh"]
SMALL_MEMLOCK = ["prlimit", "--memlock=65536:65536", *without("ipc_lock")]
NO_BPF = without("bpf", "sys_admin", "perfmon")


@pytest.mark.parametrize("under, cause", [(NO_BPFFS, "mount -t bpf bpf /sys/fs/bpf"),
                                          (SMALL_MEMLOCK, "limited to 64 KiB: ulimit -l"), (NO_BPF, "CAP_BPF")],
                         ids=["no bpffs", "small memlock", "no CAP_BPF"])
def test_case_X04_a_required_program_that_is_refused_ends_the_start(make_lab, under, cause):
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    assert lab.stop() == 0
    assert lab.start(under=under).wait(20) == 4
    said = log_of(lab)
    print(said)
    assert cause in said and said.splitlines()[-1].startswith("sluiced: "), said
    assert len(said.splitlines()) <= 3, "no raw log"
    check_nothing_is_left(lab)
    lab.restart()


def test_case_X04_without_an_optional_program_the_gate_serves(make_lab):
    lab = make_lab(port="af_xdp", xdp=["--xdp"])
    assert lab.stop() == 0
    path = lab.state / "sluice.conf"
    path.write_text(path.read_text().replace('"required"', '"optional"'))
    lab.daemon = lab.start(under=NO_BPFFS)
    assert until(20, lambda: lab.daemon.ended() or lab.answers())
    states = lab.ask("xdp status")["xdp"]
    assert [s["state"] for s in states] == ["off", "off"]
    assert all("/sys/fs/bpf" in s["why"] for s in states), states
    said = log_of(lab).splitlines()
    assert [line.split(": ")[1:3] for line in said[:2]] == [
        [f"gate front, interface {device}", "no XDP"] for device in DEVICES], said
    assert len(said) == 3 and said[2].startswith("sluiced: ready: "), said
    with wire.connect(lab, "10.1.0.1", 80) as client:
        assert get(client) == 200
    assert lab.tenant("acme")["admitted"] == 1
