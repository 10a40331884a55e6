# SPDX-License-Identifier: BSD-3-Clause
"""`sluicectl set` on a daemon under load."""

import threading
import time
import typing

from lab import until

SAMPLE_S = 0.05

# Only the first of them has queues; the others are handed the flows that they own.
FOUR_WORKERS = 'workers = [1, 1, 1, 1]; idle = "sleep";'
# Attempts a second and burst: of the file, and what is set in turn. Never more than OFFERED.
RATE, BURST = (40, 20), (20, 10)
OFFERED, OFFERED_S = 400, 8
SETS, SET_EVERY_S, SETS_PER_S_MIN = 500, 0.01, 50


def counters(value, path=""):
    """Every monotonic count of a listing by its path; levels are none."""
    levels = {"tokens", "used", "debt", "limit", "rate", "burst"}
    if isinstance(value, dict):
        return {name: count for key, below in value.items()
                if not (key in levels and not path.endswith(("refused", "dropped")))
                for name, count in counters(below, f"{path}.{key}").items()}
    return {path: value} if isinstance(value, int) else {}


SERVICE_COUNTS = ["attempts", "attempt_packets", "offered", "connected", "admitted", "waited",
                  "cancelled", "adopted", "reclaimed", "failed", "refused", "outcomes", "answered",
                  "unanswered"]


def counts_of(service):
    """What of a service only ever grows."""
    return {name: service[name] for name in SERVICE_COUNTS}


class Admitted(typing.NamedTuple):
    """`count` was true at some time of these two, which on a busy machine are far apart."""
    earliest_s: float
    count: int
    latest_s: float

    def since(self, other):
        """How many more than then, and the least and most time that they took."""
        return (self.count - other.count, max(0, self.earliest_s - other.latest_s),
                self.latest_s - other.earliest_s)


class Sampler:
    """Tenant acme, as it is every 50 ms, until stopped."""

    def __init__(self, lab):
        self.lab, self.samples, self.stopping = lab, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping:
            tenant = self.lab.tenant("acme")
            service = counts_of(self.lab.service())
            self.samples.append((time.monotonic(), tenant | {"service": service}))
            time.sleep(SAMPLE_S)

    def stop(self):
        self.stopping = True
        self.thread.join()
        return self.samples

    def admitted(self):
        """How many by now: before they were asked for, and after it."""
        return Admitted(time.monotonic(), self.lab.tenant("acme")["admitted"], time.monotonic())


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
    first = sampler.admitted()
    for i in range(30):
        lab.ctl("set", "tenant", "acme", f"quota.attempts={20 + i % 2}/s")
        time.sleep(0.08)
    last = sampler.admitted()
    assert last.count <= 11 + 21 * (last.latest_s - start)
    more, least_s, most_s = last.since(first)
    assert 20 * least_s - 3 <= more <= 21 * most_s + 2

    lab.ctl("set", "tenant", "acme", "quota.attempts=200/s")
    first = sampler.admitted()
    time.sleep(1)
    more, least_s, most_s = sampler.admitted().since(first)
    assert 0.8 * 200 * least_s <= more <= 200 * most_s + 11
    assert lab.tenant("acme")["quota"]["attempts"]["rate"] == "200/s"

    lab.ctl("set", "tenant", "acme", "quota.attempts=20/s")
    first = sampler.admitted()
    time.sleep(1)
    more, _, most_s = sampler.admitted().since(first)
    assert more <= 20 * most_s + 11
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


def set_often(lab):
    """A connection for each change; one that is late is made up for. Answers, and per second."""
    start, answers = time.monotonic(), []
    for i in range(1, SETS + 1):
        time.sleep(max(0, start + i * SET_EVERY_S - time.monotonic()))
        answers.append(lab.ask(f"set tenant acme quota.attempts={RATE[i % 2]}/s "
                               f"quota.attempts_burst={BURST[i % 2]}"))
    return answers, SETS / (time.monotonic() - start)


def assert_each_set(lab, answers):
    """One policy for each, the last of them in force at every worker."""
    def said(i, which):
        attempts = answers[i - 1][which]["quota"]["attempts"]
        return attempts["rate"], attempts["burst"]

    first = answers[0]["epoch"]
    assert [answer.get("epoch") for answer in answers] == list(range(first, first + SETS))
    for i in range(1, SETS + 1):
        assert said(i, "old") == (f"{RATE[1 - i % 2]}/s", BURST[1 - i % 2])
        assert said(i, "new") == (f"{RATE[i % 2]}/s", BURST[i % 2])
    last = {"epoch": first + SETS - 1, "workers": 4 * [first + SETS - 1]}
    assert until(2, lambda: lab.ask("status")["policy"] == last), lab.ask("status")


def assert_no_count_lost(lab, load):
    """By the account of the tenant, the service, the workers and the clients."""
    refused = load["refused_rst"]
    admitted = load["useful"] + load["late"] + load["unfinished"]
    assert load["offered"] == admitted + refused == OFFERED * OFFERED_S, load
    for one in lab.tenant("acme"), lab.service():
        assert one["attempts"] == one["admitted"] + sum(one["refused"].values())
        assert (one["attempts"], one["admitted"]) == (load["offered"], admitted)
        assert one["refused"]["rate"] == refused
    workers = lab.ask("workers")["workers"]
    assert lab.service()["answered"] == refused == sum(w["answered"] for w in workers)
    assert admitted == sum(w["passes"]["attempt"] for w in workers)
    assert all(w["handed_in"] > load["offered"] / 8 for w in workers[1:])


def test_a_hundred_changes_a_second_on_four_workers_refill_nothing_and_lose_no_count(make_lab):
    lab = make_lab(f'quota = {{ attempts = "{RATE[0]}/s"; attempts_burst = {BURST[0]}; }};',
                   workers=FOUR_WORKERS)
    epoch, start = lab.ask("status")["policy"]["epoch"], time.monotonic()
    load = lab.load(target="10.9.0.10:8081", source="10.1.0.0/16", rate=f"{OFFERED}/s",
                    duration=f"{OFFERED_S}s")
    sampler = Sampler(lab)
    assert until(5, lambda: lab.tenant("acme")["refused"]["rate"] > 0)

    first = sampler.admitted()
    answers, sets_per_s = set_often(lab)
    last = sampler.admitted()
    more, least_s, most_s = last.since(first)
    refused = lab.tenant("acme")["refused"]["rate"]
    print(f"{sets_per_s:.1f} changes a second; {more} admitted in {most_s:.3f} s "
          f"of them, {last.count} in {last.latest_s - start:.3f} s")
    assert sets_per_s >= SETS_PER_S_MIN
    assert answers[0].get("epoch") == epoch + 1, answers[0]
    assert_each_set(lab, answers)
    # Some 150 of 2000. Were even one token refilled at each change, it would be 500 more; with a
    # burst each, all that is offered would get in.
    assert min(RATE) * least_s - 3 <= more <= max(RATE) * most_s + 4
    assert last.count <= max(BURST) + 1 + max(RATE) * (last.latest_s - start)
    assert refused > 1000  # it was under load meanwhile

    load = load.result()
    assert_monotonic(sampler.stop())
    assert_no_count_lost(lab, load)
    assert lab.tenant("acme")["admitted"] <= max(BURST) + 1 + max(RATE) * (time.monotonic() - start)
    assert not lab.daemon.ended()
