"""Random torture: several workers on one run, and everything that can happen to them."""

import fcntl
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from . import bench, oracle
from .bench import start, worker

ADAPTERS = """  plain: {kind: mock, sleep_ms: 150, count_file: count.txt, unit_price_usd: 0.4}
  buy: {kind: mock, sleep_ms: 60, submit: true, count_file: count.txt, unit_price_usd: 0.4}
"""
STALE = 1.5
OPTIONS = ("--only-status", "enqueued,running", "--max-parallel", "3")
OPTIONS += ("--heartbeat-secs", "0.2", "--stale-secs", str(STALE))
JOBS = 300
DISK_MB = 192
# The smallest piece in which a file system takes or refuses what is written.
BLOCK = 1024


def torture(seconds, workers, seed=None):
    """Goes on in rounds, each a run of its own, until the time is up."""
    seed = random.randrange(1 << 30) if seed is None else seed
    rng, totals, wrong = random.Random(seed), Counter(), []
    until = time.monotonic() + seconds
    began = time.monotonic()
    with Disk() as disk:
        while time.monotonic() < until and len(wrong) < 10:
            round_ = Round(disk, rng, workers, totals["rounds"])
            found = round_.run(until)
            wrong += [f"seed {seed}, round {totals['rounds']}: {line}" for line in found]
            totals.update(round_.counts)
            totals["rounds"] += 1
        full = disk.limited
    figures = {
        "jobs": totals["jobs"],
        "kills": totals["kills"],
        "stops": totals["stops"],
        "takeovers": totals["takeovers"],
        "rolled forward": totals["rolled_forward"],
        "fenced": totals["fenced"],
        "locks held": totals["locks"],
        "clock steps": totals["clocks"],
        "full disks": totals["full"] if full else "not tried (needs root)",
        "python upserts": totals["upserts"],
        "table reads": totals["reads"],
        "cut log lines": totals["cut log lines"],
        "made but no room for it": totals["for a person"],
        "lost": totals["lost"],
        "doubled": totals["doubled"],
        "seed": seed,
        "seconds": round(time.monotonic() - began),
    }
    return figures, wrong


class Disk:
    """A small disk that can be filled: an ext4 image or memory, else a plain folder."""

    def __enter__(self):
        self.root = bench.scratch("chaos", on_disk=True)
        self.path = self.root / "disk"
        self.path.mkdir()
        self.limited = self.mount()
        return self

    def mount(self):
        if os.geteuid() != 0:
            return False
        image = self.root / "image"
        with open(image, "wb") as file:
            file.truncate(DISK_MB << 20)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        size = f"size={DISK_MB}m"
        for commands in (
            [["mkfs.ext4", "-q", "-F", str(image)], ["mount", "-o", "loop", str(image), str(self.path)]],
            [["mount", "-t", "tmpfs", "-o", size, "torture", str(self.path)]],
        ):
            try:
                if all(subprocess.run(command, **quiet).returncode == 0 for command in commands):
                    return True
            except FileNotFoundError:
                continue
        return False

    def fill(self):
        """Takes all the room there is; returns the file that takes it."""
        hog = self.path / f"hog-{random.random()}"
        with open(hog, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
            except OSError:
                pass
        return hog

    def __exit__(self, *_):
        if self.limited:
            subprocess.run(["umount", "-l", str(self.path)], check=False)
        shutil.rmtree(self.root, ignore_errors=True)


class Round:
    """One run of some jobs, from its first worker to the oracle's judgement."""

    def __init__(self, disk, rng, workers, number):
        self.disk, self.rng, self.count = disk, rng, workers
        self.counts, self.wrong = Counter(), []
        self.workspace = disk.path / f"round-{number}"
        algos = [rng.choice(("plain", "plain", "buy")) for _ in range(JOBS)]
        self.ids = bench.make(self.workspace, algos, foreign=200, adapters=ADAPTERS)
        table = self.workspace / "tables/generations.csv"
        raw = table.read_bytes()
        at = raw.index(b",other,")
        end = raw.index(b"\n", at)
        note = raw.rindex(b",", at, end)
        table.write_bytes(raw[: note + 1] + b"COUNTED:0" + raw[end:])
        self.before = oracle.Table.read(self.workspace)
        self.clock = disk.root / "clock"
        self.clock.write_text("0")
        self.paused, self.stopped_ids, self.seen = {}, set(), {}
        self.threads = []

    def run(self, until):
        upserter = self.start_upserter()
        self.workers = [self.start_worker() for _ in range(self.count)]
        try:
            return self.run_until(until, upserter)
        finally:
            for process in (*self.workers, upserter):
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def run_until(self, until, upserter):
        idle_until = time.monotonic() + 120
        while time.monotonic() < min(until, idle_until) and not self.done():
            self.harm()
            self.wake(time.monotonic())
            self.observe()
            time.sleep(self.rng.uniform(0.0, 0.08))
        self.calm()
        wrong = self.end(upserter)
        if wrong:
            kept = Path(f"/tmp/archi3d-torture-{os.getpid()}-{self.workspace.name}")
            shutil.copytree(self.workspace, kept, dirs_exist_ok=True, symlinks=True)
            wrong[0] += f" (kept in {kept})"
        shutil.rmtree(self.workspace, ignore_errors=True)
        return wrong

    def start_worker(self):
        return start(
            worker(self.workspace, *OPTIONS), clock=self.clock, output=subprocess.DEVNULL
        )

    def start_upserter(self):
        python = os.environ.get("ARCHI3D_TEST_PYTHON_3_24_3", sys.executable)
        script = str(Path(__file__).with_name("upsert.py"))
        return subprocess.Popen(
            [python, script, str(self.workspace)], stdout=subprocess.PIPE, start_new_session=True
        )

    def done(self):
        return sum(seen[0] == "completed" for seen in self.seen.values()) >= len(self.ids)

    # --- what happens to them -----------------------------------------------------------------

    def harm(self):
        for place, process in enumerate(self.workers):
            if process.poll() is not None:
                self.workers[place] = self.start_worker()
        harms = ((self.kill, 60), (self.stop, 8), (self.hold, 20), (self.step_clock, 10))
        harms += ((self.fill, 1.5),) if self.disk.limited else ()
        chosen = self.rng.choices([h for h, _ in harms], [weight for _, weight in harms])[0]
        chosen()

    def kill(self):
        place = self.rng.randrange(len(self.workers))
        process = self.workers[place]
        if process.pid in self.paused and self.rng.random() < 0.8:
            return  # Mostly it comes back, when others have its jobs.
        self.paused.pop(process.pid, None)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.counts["kills"] += 1
        self.workers[place] = self.start_worker()

    def stop(self):
        process = self.rng.choice(self.workers)
        if process.pid in self.paused or process.poll() is not None:
            return
        os.kill(process.pid, signal.SIGSTOP)
        self.counts["stops"] += 1
        self.stopped_ids.add(process.pid)
        # Longer than silence is borne, so that others take its jobs.
        self.paused[process.pid] = time.monotonic() + self.rng.uniform(STALE * 0.5, STALE * 4)

    def wake(self, now):
        for pid, moment in list(self.paused.items()):
            if now >= moment:
                del self.paused[pid]
                os.kill(pid, signal.SIGCONT)

    def hold(self):
        """Somebody holds a lock for a while."""
        lock = self.workspace / "tables/generations.lock"
        if self.rng.random() < 0.6:
            lock = bench.state(self.workspace, self.rng.choice(self.ids), "lock")
        elif self.rng.random() < 0.2:
            lock = self.workspace / "runs/r/state/recovery.lock"
        self.counts["locks"] += 1
        self.later(lambda: hold_lock(lock, self.rng.uniform(0.01, 0.6)))

    def step_clock(self):
        self.counts["clocks"] += 1
        offset = self.rng.choice((0, 3_600_000, -3_600_000, 30_000, -30_000, 86_400_000))
        # In one piece: half a number would be a step of its own.
        fresh = self.clock.with_suffix(".new")
        fresh.write_text(str(offset))
        os.replace(fresh, self.clock)

    def fill(self):
        self.counts["full"] += 1
        hog = self.disk.fill()
        self.observe()
        time.sleep(self.rng.uniform(0.05, 0.5))
        hog.unlink()

    def later(self, what):
        thread = threading.Thread(target=what)
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
        self.counts["reads"] += 1
        if rows.keys() != self.before.keys():
            self.wrong.append("a reader saw other rows")
        for job, cells in rows.cells("r").items():
            # A result that is there is neither taken back nor replaced.
            now = (cells["status"], cells.get("generation_start"), cells.get("generation_end"))
            last = self.seen.get(job, now)
            if last[0] == "completed" and last != now:
                self.wrong.append(f"{job} went from {last} to {now}")
            self.seen[job] = now

    def calm(self):
        for pid in list(self.paused):
            os.kill(pid, signal.SIGCONT)
        self.paused.clear()
        for thread in self.threads:
            thread.join()
        self.clock.write_text("0")

    def end(self, upserter):
        for process in self.workers:
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                self.wrong.append("a worker does not come to an end")
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.judge_failures()
        # What failed on the full disk was paid for, and is only made again when told to.
        last = ("--only-status", "enqueued,running,failed", "--resubmit-unknown", *OPTIONS[2:])
        ran = bench.run(worker(self.workspace, *last))
        if ran.code != 0:
            self.wrong.append(f"the last worker ended with {ran.code}: {ran.err[-300:]}")
        upserter.send_signal(signal.SIGTERM)
        upserts = int(upserter.communicate(timeout=90)[0] or -1)
        self.counts["upserts"] += upserts
        raw = (self.workspace / "tables/generations.csv").read_bytes()
        counted = re.findall(rb"COUNTED:(\d+)", raw)
        if counted != [str(upserts).encode()]:
            self.wrong.append(f"python changed the table {upserts} times, {counted} are in it")
        found = oracle.check(
            self.workspace, self.before, self.ids, {}, most=len(self.ids), changed=("notes",)
        )
        found = [line for line in found if not line.startswith("worker.log")]
        self.judge_log()
        self.counts["jobs"] += len(self.ids)
        self.counts["lost"] += sum("row says" in w or "missing" in w for w in found)
        self.judge_journals()
        return self.wrong + found

    def judge_failures(self):
        """No job fails here but those whose result was made and found no room on the disk: they
        may be billed, so a person is told."""
        for job, cells in oracle.Table.read(self.workspace).cells("r").items():
            if cells["status"] != "failed":
                continue
            self.counts["for a person"] += 1
            message = cells.get("error_msg", "")
            if "No space left" not in message or "--resubmit-unknown" not in message:
                self.wrong.append(f"{job} failed: {message}")

    def judge_log(self):
        """A kill or a full disk cuts a line where a page of the file ends, and nowhere else. Such
        a line stands alone."""
        at = 0
        for line in (self.workspace / "logs/worker.log").read_bytes().split(b"\n"):
            at += len(line) + 1
            if not line or oracle.parse(line) is not None:
                continue
            self.counts["cut log lines"] += 1
            if (at - 1) % BLOCK or line.count(b'"event":"') > 1:
                self.wrong.append(f"worker.log: a line cannot be read, at {at}: {line[:200]!r}")

    def judge_journals(self):
        lines, _ = oracle.journal_lines(self.workspace)
        claims = [line for line in lines if line.get("event") == "claimed"]
        self.counts["takeovers"] += sum(line["entry"] == "takeover" for line in claims)
        self.counts["fenced"] += sum(line.get("event") == "fenced" for line in lines)
        log = (self.workspace / "logs/worker.log").read_bytes()
        self.counts["rolled_forward"] += log.count(b'"rolled_forward"')
        for job, attempts in finished_by_the_unstopped(self.workspace, self.stopped_ids).items():
            if attempts > 1:
                self.counts["doubled"] += 1
                self.wrong.append(f"{job}: carried out {attempts} times by workers never stopped")


def finished_by_the_unstopped(workspace, stopped):
    """Counts by job the results of workers that were never stopped: a worker that was stopped for
    longer than silence is borne may come too late, and is fenced."""
    done = Counter()
    for path in (Path(workspace) / "runs/r/state/journal").glob("*.jsonl"):
        pid = int(path.stem.split("-")[-2])
        if pid in stopped:
            continue
        lines = [oracle.parse(line) for line in path.read_bytes().split(b"\n")]
        done.update(job for job, n in oracle.completions([x for x in lines if x]).items() for _ in n)
    return done


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
