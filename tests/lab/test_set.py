# SPDX-License-Identifier: BSD-3-Clause
"""`sluicectl set` on a daemon under load."""

import threading
import time

from lab import until

SAMPLE_S = 0.05


def counters(value, path=""):
    """Every monotonic count of a listing by its path; levels are none."""
    levels = {"tokens", "used", "debt", "limit", "rate", "burst"}
    if isinstance(value, dict):
        return {name: count for key, below in value.items()
                if not (key in levels and not path.endswith(("refused", "dropped")))
                for name, count in counters(below, f"{path}.{key}").items()}
    return {path: value} if isinstance(value, int) else {}


class Sampler:
    """Tenant acme, as it is every 50 ms, until stopped."""

    def __init__(self, lab):
        self.lab, self.samples, self.stopping = lab, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping:
            tenant = self.lab.tenant("acme")
            self.samples.append((time.monotonic(), tenant | {"service": self.lab.service()}))
            time.sleep(SAMPLE_S)

    def stop(self):
        self.stopping = True
        self.thread.join()
        return self.samples

    def admitted(self):
        """(when, how many) now."""
        tenant = self.lab.tenant("acme")
        return time.monotonic(), tenant["admitted"]


def assert_monotonic(samples):
    assert len(samples) > 50
    for (_, earlier), (_, later) in zip(samples, samples[1:]):
        before, after = counters(earlier), counters(later)
        assert before.keys() == after.keys() and len(before) > 40
        falling = {name: (before[name], after[name]) for name in before
                   if after[name] < before[name]}
        assert not falling


def test_setting_a_quota_acts_within_a_second_and_refills_nothing(make_lab):
    lab = make_lab('quota = { attempts = "20/s"; attempts_burst = 10; };')
    # Just before the first SYN: the bucket is full, and what it earns counts from here.
    start = time.monotonic()
    acme = lab.load(target="10.9.0.10:8081", source="10.1.0.0/16", rate="300/s", duration="9s")
    sampler = Sampler(lab)
    assert until(5, lambda: lab.tenant("acme")["refused"]["rate"] > 0)

    # Thirty changes in three seconds: a refill of 10 at each would show as hundreds.
    began, first = sampler.admitted()
    for i in range(30):
        lab.ctl("set", "tenant", "acme", f"quota.attempts={20 + i % 2}/s")
        time.sleep(0.08)
    now, admitted = sampler.admitted()
    assert admitted <= 11 + 21 * (now - start)
    assert 20 * (now - began) - 3 <= admitted - first <= 21 * (now - began) + 2

    lab.ctl("set", "tenant", "acme", "quota.attempts=200/s")
    changed, first = sampler.admitted()
    time.sleep(1)
    now, admitted = sampler.admitted()
    assert 0.8 * 200 * (now - changed) <= admitted - first <= 200 * (now - changed) + 11
    assert lab.tenant("acme")["quota"]["attempts"]["rate"] == "200/s"

    lab.ctl("set", "tenant", "acme", "quota.attempts=20/s")
    changed, first = sampler.admitted()
    time.sleep(1)
    now, admitted = sampler.admitted()
    assert admitted - first <= 20 * (now - changed) + 11
    assert lab.tenant("acme")["quota"]["attempts"]["burst"] == 10

    acme = acme.result()
    assert_monotonic(sampler.stop())
    assert acme["not_sent"] == 0
    assert lab.tenant("acme")["attempts"] == acme["offered"] == 2700
    assert lab.tenant("acme")["refused"]["rate"] == acme["refused_rst"]
    assert not lab.daemon.ended()


def test_setting_a_window_acts_within_a_second(make_lab):
    lab = make_lab("window = 5;")
    acme = lab.load(target="10.9.0.10:8081", source="10.1.0.0/16", rate="300/s", duration="7s")
    sampler = Sampler(lab)
    assert until(3, lambda: lab.backend_peak("10.1.0.0/16") == 5)
    for window in (2, 8):
        lab.ctl("set", "tenant", "acme", f"window={window}")
        time.sleep(1)
        assert lab.tenant("acme")["window"]["debt"] == 0
        lab.backend_reset()
        time.sleep(1)
        assert lab.backend_peak("10.1.0.0/16") == window
    acme = acme.result()
    assert_monotonic(sampler.stop())
    tenant = lab.tenant("acme")
    assert tenant["window"]["limit"] == 8 and tenant["window"]["peak"] == 8
    assert acme["offered"] == tenant["attempts"] == 2100
    assert acme["refused_rst"] == tenant["refused"]["share"]
    assert not lab.daemon.ended()
