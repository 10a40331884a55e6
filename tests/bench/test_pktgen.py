# SPDX-License-Identifier: BSD-3-Clause
"""What the files of tools/pktgen describe, as far as it can be told without Pktgen."""

import collections
import ipaddress
import pathlib
import re
import shutil
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools/pktgen"
PACKETS_READY = 24576  # by one port of Pktgen


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.lua")), ids=lambda path: path.name)
def test_lua_is_lua(script):
    luac = shutil.which("luac5.3") or shutil.which("luac")
    if not luac:
        pytest.skip("luac is not installed (Debian: lua5.3)")
    done = subprocess.run([luac, "-p", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_imix_is_seven_to_four_to_one():
    text = (FOLDER / "imix.pkt").read_text(encoding="ascii")
    frames = re.findall(r"^sequence (\d+) 0 .* size (\d+)$", text, re.MULTILINE)
    assert [int(number) for number, _ in frames] == list(range(12))
    assert collections.Counter(size for _, size in frames) == {"64": 7, "594": 4, "1518": 1}
    assert re.search(r"^set 0 seq_cnt 12$", text, re.MULTILINE)


def test_many_sources_are_the_same_for_each_tenant():
    text = (FOLDER / "many-sources.pkt").read_text(encoding="ascii")
    start, low, high, step = (int(ipaddress.ip_address(word)) for word in
                              re.search(r"^range 0 src ip (\S+) (\S+) (\S+) (\S+)$", text,
                                        re.MULTILINE).groups())
    packets, source = collections.Counter(), start
    for _ in range(PACKETS_READY):
        packets[source] += 1
        source = source + step if source + step <= high else low  # Pktgen's pktgen_range_ctor()
    tenants = collections.Counter()
    for source, count in packets.items():
        tenants[".".join(str(ipaddress.ip_address(source)).split(".")[:2])] += count
    assert (len(packets), set(packets.values())) == (8192, {3})
    assert tenants == {"10.1": 4917, "10.2": 4914, "10.3": 4917, "10.4": 4914, "10.5": 4914}
