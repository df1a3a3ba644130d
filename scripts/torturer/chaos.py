"""Random torture: several workers on one run, real programs and mocks, and everything that can happen to
them at once."""

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from . import aftermath, bench, disks, oracle
from .bench import start, worker
from .stage import KINDS, Stage, children, send

MOCKS = """  plain: {kind: mock, sleep_ms: 150, count_file: count.txt, unit_price_usd: 0.4}
  buy: {kind: mock, sleep_ms: 60, submit: true, count_file: count.txt, unit_price_usd: 0.4}
"""
# A rerun in doubt may be paid for twice, which here nobody could tell from a mistake.
PROGRAMS = tuple(name for name in KINDS if name != "rerun")
HABITS = {"sleep_s": 0.03, "linger_s": 0.05, "previews": 4, "odd": True, "folder": True}
# How often workers beat and for how long they bear silence: not all the same.
RHYTHMS = ((0.2, 1.5), (0.5, 4.0), (0.1, 1.0))
OPTIONS = ("--only-status", "enqueued,running", "--max-parallel", "3")
JOBS = 240
COUNTED = (
    "jobs", "models by programs", "charges", "kills", "stops", "takeovers", "rolled forward", "fenced",
    "locks held", "clock steps", "rehearsals", "full disks", "no inodes", "disk errors", "power cuts",
    "python upserts", "table reads", "cut log lines", "for a person", "lost", "doubled",
)
WHO = (("guard",), ("worker",), ("adapter",), ("guard", "worker", "adapter"))


def torture(seconds, workers, seed=None):
    """Goes on in rounds, each a run of its own, until the time is up."""
    seed = random.randrange(1 << 30) if seed is None else seed
    rng, totals, wrong = random.Random(seed), Counter(), []
    began, number = time.monotonic(), 0
    until = began + seconds
    # What little can be done in a short time is to be done to the end.
    jobs = JOBS if seconds >= 30 else JOBS // 2
    disk = disks.small("chaos", megabytes=192, inodes=8000, options="errors=remount-ro")
    folder = disk.path if disk else bench.scratch("chaos", on_disk=True)
    try:
        while time.monotonic() < until and len(wrong) < 10:
            with Round(folder / f"round-{number}", disk, rng, workers, jobs) as round_:
                found = round_.run(until)
            wrong += [f"seed {seed}, round {number}: {line}" for line in found]
            totals.update(round_.counts)
            number += 1
    finally:
        disk.drop() if disk else shutil.rmtree(folder, ignore_errors=True)
    figures = {name: totals[name] for name in COUNTED}
    if not disk:
        figures["disks"] = "not harmed (needs root)"
    return figures | {"rounds": number, "seed": seed, "seconds": round(time.monotonic() - began)}, wrong


class Round(Stage):
    """One run of some jobs, from its first worker to the judgement."""

    def __init__(self, workspace, disk, rng, workers, jobs):
        self.disk, self.rng, self.count = disk, rng, workers
        self.counts, self.wrong = Counter(), []
        algos = [rng.choice(("plain", "buy", *PROGRAMS)) for _ in range(jobs)]
        super().__init__(workspace, algos, foreign=200, more=MOCKS, **HABITS)
        table = self.workspace / "tables/generations.csv"
        raw = table.read_bytes()
        at = raw.index(b",other,")
        end = raw.index(b"\n", at)
        note = raw.rindex(b",", at, end)
        table.write_bytes(raw[: note + 1] + b"COUNTED:0" + raw[end:])
        self.before = oracle.Table.read(self.workspace)
        self.clock = self.outside / "clock"
        self.clock.write_text("0")
        self.paused, self.stopped_ids, self.seen = {}, set(), {}
        self.threads, self.workers, self.was_cut = [], [], False
        os.sync()

    def run(self, until):
        self.upserter = self.start_upserter()
        self.workers = [self.start_worker() for _ in range(self.count)]
        try:
            return self.run_until(until)
        finally:
            send(self.upserter.pid, signal.SIGKILL)
            self.upserter.wait()

    def run_until(self, until):
        idle_until = time.monotonic() + 120
        while time.monotonic() < min(until, idle_until) and not self.done():
            self.harm()
            self.wake(time.monotonic())
            self.observe()
            time.sleep(self.rng.uniform(0.0, 0.08))
        if self.disk and self.rng.random() < 0.4:
            self.break_disk()
        self.calm()
        wrong = aftermath.judge(self)
        shutil.rmtree(self.workspace, ignore_errors=True)
        return wrong

    def start_worker(self):
        beat, stale = self.rng.choice(RHYTHMS)
        options = (*OPTIONS, "--heartbeat-secs", str(beat), "--stale-secs", str(stale))
        guard = start(worker(self.workspace, *options), clock=self.clock, output=subprocess.DEVNULL)
        self.started.append(guard)
        return guard

    def start_upserter(self):
        python = os.environ.get("ARCHI3D_TEST_PYTHON_3_24_3", sys.executable)
        script = str(Path(__file__).with_name("upsert.py"))
        return subprocess.Popen(
            [python, script, str(self.workspace)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def done(self):
        return sum(seen[0] == "completed" for seen in self.seen.values()) >= len(self.ids) * 0.97

    # --- what happens to them -----------------------------------------------------------------

    def harm(self):
        for place, process in enumerate(self.workers):
            if process.poll() is not None:
                self.workers[place] = self.start_worker()
        harms = ((self.kill_some, 60), (self.stop, 8), (self.hold_lock, 20), (self.step_clock, 10))
        harms += ((self.rehearse, 3),)
        harms += ((self.fill, 1.5), (self.take_inodes, 1.0)) if self.disk else ()
        chosen = self.rng.choices([h for h, _ in harms], [weight for _, weight in harms])[0]
        chosen()

    def kill_some(self):
        place = self.rng.randrange(len(self.workers))
        process = self.workers[place]
        if process.pid in self.paused and self.rng.random() < 0.8:
            return  # Mostly it comes back, when others have its jobs.
        who = self.rng.choices(WHO, (2, 4, 2, 4))[0]
        self.counts["kills"] += 1
        if who == ("adapter",):
            self.kill(process, *who)
            return
        for pid in self.paused.pop(process.pid, (0, ()))[1]:
            send(pid, signal.SIGCONT)
        self.kill(process, *who)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"killed {who}, and the rest does not come to an end")
        self.workers[place] = self.start_worker()

    def stop(self):
        """A worker stands still, with or without its programs, often for longer than is borne."""
        process = self.rng.choice(self.workers)
        if process.pid in self.paused or process.poll() is not None:
            return
        pids = [process.pid, *children(process.pid)]
        self.stopped_ids.update(pids)
        if self.rng.random() < 0.5:
            pids += [pid for parent in pids[1:] for pid in children(parent)]
        for pid in pids:
            send(pid, signal.SIGSTOP)
        self.counts["stops"] += 1
        self.paused[process.pid] = (time.monotonic() + self.rng.uniform(0.5, 6), pids)

    def wake(self, now):
        for pid, (moment, pids) in list(self.paused.items()):
            if now >= moment:
                del self.paused[pid]
                for stopped in pids:
                    send(stopped, signal.SIGCONT)

    def hold_lock(self):
        """Somebody holds a lock for a while."""
        lock = self.workspace / "tables/generations.lock"
        if self.rng.random() < 0.6:
            lock = bench.state(self.workspace, self.rng.choice(self.ids), "lock")
        elif self.rng.random() < 0.2:
            lock = self.workspace / "runs/r/state/recovery.lock"
        self.counts["locks held"] += 1
        self.later(hold_lock, lock, self.rng.uniform(0.01, 0.6))

    def step_clock(self):
        self.counts["clock steps"] += 1
        offset = self.rng.choice((0, 3_600_000, -3_600_000, 30_000, -30_000, 86_400_000))
        # In one piece: half a number would be a step of its own.
        fresh = self.clock.with_suffix(".new")
        fresh.write_text(str(offset))
        os.replace(fresh, self.clock)

    def rehearse(self):
        """Somebody rehearses what seems to wait or to have failed."""
        self.counts["rehearsals"] += 1
        options = ("--dry-run", "--only-status", "enqueued,running,failed", "--limit", "3")
        self.started.append(start(worker(self.workspace, *options), output=subprocess.DEVNULL))

    def fill(self):
        self.counts["full disks"] += 1
        hog = self.disk.fill()
        self.observe()
        time.sleep(self.rng.uniform(0.05, 0.5))
        disks.free(hog)

    def take_inodes(self):
        self.counts["no inodes"] += 1
        hog = self.disk.take_inodes()
        time.sleep(self.rng.uniform(0.05, 0.5))
        disks.free(hog)

    def break_disk(self):
        """The disk turns read-only or loses its power under everybody; a person repairs it."""
        how = self.rng.choice(("disk errors", "power cuts"))
        self.counts[how] += 1
        self.was_cut = True
        self.disk.cut() if how == "power cuts" else self.disk.fail()
        time.sleep(self.rng.uniform(0.0, 0.3))
        for pid in (*self.paused, *(pid for _, pids in self.paused.values() for pid in pids)):
            send(pid, signal.SIGCONT)
        self.paused.clear()
        os.killpg(self.upserter.pid, signal.SIGKILL)
        self.upserter.wait()
        for thread in self.threads:
            thread.join()
        self.end_all()
        self.seen.clear()
        if not self.disk.repair():
            raise RuntimeError("the disk cannot be mounted again")

    def later(self, what, *arguments):
        thread = threading.Thread(target=what, args=arguments)
        thread.start()
        self.threads.append(thread)

    # --- what is seen -------------------------------------------------------------------------

    def observe(self):
        """Every reader at every moment sees a whole table in which nothing finished goes back."""
        try:
            rows = oracle.Table.read(self.workspace)
        except (ValueError, OSError) as error:
            self.wrong.append(f"a reader saw: {error}")
            return
        self.counts["table reads"] += 1
        if rows.keys() != self.before.keys():
            self.wrong.append("a reader saw other rows")
        for job, cells in rows.cells("r").items():
            if cells.get("price_source") == "dry-run":
                continue  # A rehearsal is replaced by the real thing.
            # A result that is there is neither taken back nor replaced.
            now = (cells["status"], cells.get("generation_start"), cells.get("generation_end"))
            last = self.seen.get(job, now)
            if last[0] == "completed" and last != now:
                self.wrong.append(f"{job} went from {last} to {now}")
            self.seen[job] = now

    def calm(self):
        for _, pids in self.paused.values():
            for pid in pids:
                send(pid, signal.SIGCONT)
        self.paused.clear()
        for thread in self.threads:
            thread.join()
        self.clock.write_text("0")


def hold_lock(path, seconds):
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        return  # No worker has come so far, or the disk is full.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        time.sleep(seconds)
    finally:
        os.close(descriptor)
