# SPDX-License-Identifier: BSD-3-Clause
"""What overload tests do to the lab's service: slow it down, stop it, let it go on."""

import json
import pathlib
import time

import pytest

import wire
from lab import until

BACKEND = "10.9.0.10:8081"
SLOTS = 4
SLOW_PER_S = 17
SLOW_MS = 1000 * SLOTS / SLOW_PER_S


def pace(lab, per_s):
    return json.loads(lab.script("pace", f"{per_s}/s").stdout)


def backend_state(lab):
    """R, S, T ...: see proc(5)."""
    return pathlib.Path(f"/proc/{lab.processes['backend'].pid}/stat").read_text().rsplit(")")[1].split()[0]


def test_a_pace_holds_for_what_starts_then(bridge_lab):
    lab = bridge_lab()
    seen = pace(lab, SLOW_PER_S)
    assert (seen["service_us"], seen["pace_changes"]) == (235294, 1)
    slow = lab.load(target=BACKEND, rate="20/s", duration="2s", deadline="10s").result()
    assert slow["useful"] == slow["offered"] == 40
    assert slow["p50_ms"] > SLOW_MS
    # The last came at 1950 ms, and four slots need ten rounds for forty.
    assert slow["p99_ms"] > 10 * SLOW_MS - 1950

    seen = pace(lab, 170)
    assert (seen["service_us"], seen["pace_changes"], seen["served"]) == (23529, 2, 40)
    fast = lab.load(target=BACKEND, rate="20/s", duration="2s", deadline="10s").result()
    assert fast["useful"] == 40
    assert 1000 * SLOTS / 170 < fast["p50_ms"] < SLOW_MS


def test_what_cannot_be_done_is_told(bridge_lab):
    lab = bridge_lab()
    for words in (["pace"], ["pace", "17"], ["pace", "0/s"], ["pace", "1000001/s"],
                  ["signal", "backend", "KILL"], ["signal", "gate", "STOP"],
                  ["restart"]):
        done = lab.script(*words, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith(f"lab: {words[0]}")
    assert lab.backend()["pace_changes"] == 0


def test_a_stopped_backend_takes_connections_answers_nobody_and_goes_on(bridge_lab):
    lab = bridge_lab()
    load = lab.load(target=BACKEND, rate="20/s", duration="5s", deadline="500ms", timeout="500ms",
                    series=True)
    time.sleep(0.8)
    lab.script("signal", "backend", "STOP")
    assert backend_state(lab) == "T"
    with wire.connect(lab, "10.1.0.1", 8081, timeout=0.5) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with pytest.raises(TimeoutError):
            client.recv(1)
        time.sleep(0.7)
        lab.script("signal", "backend", "CONT")
        client.settimeout(10)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
    series = load.result()["series"]
    print(series)
    assert [row["offered"] for row in series] == 5 * [20]
    # Nothing was answered between, and everything is in the end.
    assert series[1]["unfinished"] > 0
    assert series[4]["useful"] == 20


def test_a_lab_with_a_stopped_backend_ends(bridge_lab):
    lab = bridge_lab()
    lab.script("signal", "backend", "STOP")
    assert until(1, lambda: backend_state(lab) == "T")
    down = lab.script("down")
    assert down.stderr == ""
    assert lab.processes["backend"].wait(1) == 0
