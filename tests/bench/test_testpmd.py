# SPDX-License-Identifier: BSD-3-Clause
"""tools/pktgen/testpmd: what it counts, and that it leaves nothing."""

import os
import pathlib
import re
import subprocess
import tempfile

import pytest

TESTPMD = pathlib.Path(__file__).resolve().parents[2] / "tools/pktgen/testpmd"
UNAVAILABLE = 77
WINDOW = 8  # of both services of gate.conf.in


def numbers(line):
    """{"sent": 5, "no room for": 1, ...} of one line of the script."""
    return {name: int(value) for name, value in re.findall(r"([a-z_][a-z_ ]*?) (\d+)", line)}


def processes_that_name(path):
    found = []
    for arguments in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(path) in arguments.read_bytes():
                found.append(arguments.parent.name)
        except OSError:
            pass  # it has ended meanwhile
    return found


@pytest.fixture(name="testpmd")
def fixture_testpmd():
    """testpmd(ARGUMENT...): what the script said, by the first word of each line."""
    folder = tempfile.mkdtemp(prefix="testpmd-")  # tmp_path is too long for names of sockets

    def run(*arguments):
        done = subprocess.run([TESTPMD, *arguments], env={**os.environ, "TMPDIR": folder},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode == UNAVAILABLE:
            pytest.skip(done.stderr)
        print(done.stdout)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "all packets are accounted for" in done.stdout
        return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())

    yield run
    assert processes_that_name(folder) == []
    os.rmdir(folder)  # which nothing may be left in


def test_what_macswap_took_it_sent_or_had_no_room_for(testpmd):
    said = testpmd("flowgen", "--port", "vhost", "--seconds", "1")
    generator, macswap = numbers(said["generator"]), numbers(said["macswap"])
    assert generator["sent"] == macswap["received"] + macswap["missed"] > 0
    assert macswap["received"] == macswap["sent"] + macswap["no room for"]
    assert 0 < generator["took back"] <= macswap["sent"]


def test_as_many_syns_enter_as_the_window_has_slots(testpmd):
    said = testpmd("syn", "--into", "sluiced", "--seconds", "1")
    generator, sluiced = numbers(said["generator"]), numbers(said["sluiced"])
    assert generator["sent"] == sluiced["received"] + sluiced["missed"]
    assert re.search(rf"\battempt {WINDOW}\b", said["sluiced"])
    assert 0 < generator["took back"] <= sluiced["answered"]
    assert sluiced["received"] == sum(
        sluiced[term] for term in ("forwarded", "dropped", "answered", "tx_failed", "held"))


@pytest.mark.parametrize("wrong", [[], ["udp"], ["syn", "--seconds", "0"], ["syn", "--seconds", "61"],
                                   ["syn", "--into", "nginx"], ["syn", "--port", "tap"],
                                   ["syn", "--seconds"], ["syn", "more"]])
def test_usage(wrong):
    done = subprocess.run([TESTPMD, *wrong], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: testpmd")
