"""The situations in which processes are killed: each names the command that suffers, how it got
there, and what must be true after one clean start."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from . import bench
from .bench import is_stopped, make, run, state, wait_for, worker
from .oracle import Table, check, journal_lines

# For how long a dead worker bears its own silence, in seconds.
SILENCE = 0.3
RESUME = ("--only-status", "enqueued,running", "--max-parallel", "2")
ADAPTERS = """  plain: {kind: mock, count_file: count.txt, unit_price_usd: 0.4}
  buy: {kind: mock, submit: true, count_file: count.txt, unit_price_usd: 0.4}
  bad: {kind: mock, fail: "it is broken", unit_price_usd: 0.1, count_file: count.txt}
  ask: {kind: mock, submit: true, intent: true, on_interrupt: ask, unit_price_usd: 0.4}
  shaky: {kind: mock, count_file: count.txt}
  flaky: {kind: mock, fail_first: 1}
  slow: {kind: mock, wait_file: go, unit_price_usd: 0.4}
  broken: {kind: mock, fail: "it is broken", breaker_failures: 2}
  limited: {kind: mock, max_parallel: 1, rate_per_min: 60000, provider: shop}
  credit: {kind: mock, fail_first: 1, fail_class: out_of_credit, provider: bank}
"""


class Scenario:
    """A situation. `prepare` makes it once; every fault starts from a copy of it."""

    algos = ("plain", "plain", "buy", "plain")
    options = RESUME
    most = 1
    statuses = {}
    changed = ()
    unmarked = ()
    # Which times at a point the long form kills.
    hits = (1, 2, 5)
    # Endings of the command that are as good as those that every command may have.
    codes = ()

    @classmethod
    def possible(cls):
        """Tells whether this machine can do it."""
        return True

    def __init__(self, root):
        self.name = type(self).__name__.lower()
        self.template = Path(root) / self.name
        self.ids = make(self.template, self.algos, adapters=ADAPTERS)
        self.before = Table.read(self.template)
        self.prepare(self.template)
        if any((self.template / "runs/r/state").glob("*.inprogress")):
            # Whoever left these is dead for as long as it promised not to be silent.
            time.sleep(2 * SILENCE)
        self.expected = {job: ("completed",) for job in self.ids}
        for number, endings in self.statuses.items():
            self.expected[self.ids[number]] = endings

    def prepare(self, workspace):
        """Brings the workspace to where the fault finds it."""

    def command(self, workspace):
        """Returns the command that suffers the fault."""
        return worker(workspace, *self.options)

    def within(self, workspace):
        """Returns the command that starts the command in its turn, if there is one."""
        return ()

    def begin(self, workspace):
        """Starts what runs beside the command."""

    def drive(self, process, workspace):
        """Does what happens while the command runs."""

    def release(self, workspace):
        """Lets jobs that wait for somebody go on."""

    def recover(self, workspace):
        """Starts again, without faults; returns what went wrong with that."""
        return clean(worker(workspace, *self.options))

    def again(self, workspace):
        """Runs what failed because the disk did; returns what went wrong with that. A result that was made
        is brought in; only where nobody knows whether a purchase was noted a person has to say so."""
        wrong = clean(worker(workspace, "--only-status", "enqueued,running,failed"))
        lines = journal_lines(workspace)[0]
        made = {line["job_id"] for line in lines if line.get("event") == "made"}
        for job, cells in self.rows(workspace).items():
            doubt = cells["status"] == "failed" and "billed" in cells.get("error_msg", "")
            if doubt and job in made:
                wrong.append(f"{job}: was made, and a person is asked: {cells['error_msg']}")
            elif doubt:
                options = ("--only-status", "failed", "--resubmit-unknown", "--jobs", job)
                wrong += clean(worker(workspace, *options))
        return wrong

    def rows(self, workspace):
        """Returns the rows of the run by job."""
        return Table.read(workspace).cells("r")

    def check(self, workspace):
        bare = [self.ids[number] for number in self.unmarked]
        return check(
            workspace, self.before, self.ids, self.expected, self.most, self.changed, bare
        )

    def suffer(self, workspace, faults=None, trace=None):
        self.begin(workspace)
        before = self.within(workspace)
        process = bench.start(self.command(workspace), faults=faults, trace=trace, before=before)
        self.drive(process, workspace)
        return bench.finish(process)


def clean(arguments, codes=(0, 1)):
    return ended_well(run(arguments), codes)


def ended_well(ran, codes=(0, 1)):
    return [] if ran.code in codes else [f"a clean start ended with {ran.code}: {ran.err[-300:]}"]


def die_at(workspace, job, point, *options):
    """Leaves a job as a worker does that is killed at a fault point. In a copy of the workspace nothing but
    its silence tells that it is dead, so it has promised to beat often."""
    options = ("--heartbeat-secs", "0.1", "--stale-secs", str(SILENCE), *options)
    ran = run(worker(workspace, "--jobs", job, *options), faults=f"{point}=1*return(kill)")
    if not ran.killed:
        raise RuntimeError(f"{point} was not reached: {ran.code} {ran.err}")


class Wreckage(Scenario):
    """A worker finds what many dead ones have left, in every state there is."""

    algos = ("plain", "buy", "buy", "plain", "plain", "bad", "plain", "plain", "plain", "ask")
    algos += ("plain", "buy", "bad", "buy", "plain")
    options = ("--only-status", "enqueued,running,failed", "--max-parallel", "2")
    # A result that was found missing is made again.
    most = 2
    # Whether a job was bought before its worker died is for a person to say.
    statuses = {5: ("failed",), 9: ("completed", "failed"), 12: ("failed",)}

    def prepare(self, workspace):
        jobs = self.ids
        run(worker(workspace, "--jobs", jobs[7]))
        (workspace / "runs/r/outputs" / jobs[7] / "generated.glb").unlink()
        run(["consolidate", "--run-id", "r", "--workspace", str(workspace)])
        # Each made in a copy: the next start would heal what the one before left.
        self.wreck(workspace, jobs[0], "finish.journalled")
        self.wreck(workspace, jobs[1], "submit.synced")
        self.wreck(workspace, jobs[2], "submit.in_lease")
        state(workspace, jobs[2], "inprogress").unlink()
        self.wreck(workspace, jobs[3], "close.before")
        state(workspace, jobs[3], "completed").write_text("")
        self.wreck(workspace, jobs[4], "claim.leased")
        self.wreck(workspace, jobs[5], "close.before")
        self.wreck(workspace, jobs[8], "close.before")
        self.leave_void_lease(workspace, jobs[8])
        self.wreck(workspace, jobs[10], "turn_lease.written")
        self.wreck(workspace, jobs[14], "finish.before")
        self.wreck(workspace, jobs[13], "finish.unlocked")
        (workspace / "runs/r/outputs" / jobs[13] / "generated.glb").write_bytes(b"")
        damaged = "timestamp: 2026-01-01T00:00:00.000000+00:00\npid: 1\nhost: x\n"
        damaged += 'archi3d: {"v":1}\ncheck: 0000000000000000\n'
        state(workspace, jobs[6], "failed").write_text(damaged)
        nobodys = workspace / "runs/r/outputs/.staging" / f"{jobs[9]}.1-0123"
        nobodys.mkdir()
        half = workspace / "runs/r/state" / f".{jobs[9]}.inprogress.h-1-x.tmp"
        half.write_text("half")
        # Old enough that whoever made them, which nothing tells, is gone.
        for path in (nobodys, half):
            os.utime(path, (0, 0))

    def wreck(self, workspace, job, point):
        copy = Path(f"{workspace}-copy")
        shutil.copytree(workspace, copy)
        shutil.rmtree(copy / "runs/r/state", ignore_errors=True)
        die_at(copy, job, point)
        shutil.copytree(copy / "runs", workspace / "runs", dirs_exist_ok=True)
        shutil.rmtree(copy)

    def leave_void_lease(self, workspace, job):
        lease = state(workspace, job, "inprogress")
        copy = Path(f"{workspace}-copy")
        shutil.copytree(self.template, copy)
        shutil.rmtree(copy / "runs/r/state")
        die_at(copy, job, "claim.leased")
        shutil.copy(state(copy, job, "inprogress"), lease)
        shutil.rmtree(copy)


class Redo(Scenario):
    """Results are made again: some succeed, some fail, one has no marker."""

    algos = ("plain", "buy", "shaky", "plain", "shaky")
    options = ("--redo", "--only-status", "completed", "--max-parallel", "2")
    most = 2
    # It stays as it is until its turn comes.
    unmarked = (3,)

    def prepare(self, workspace):
        run(worker(workspace, "--max-parallel", "2"))
        state(workspace, self.ids[3], "completed").unlink()
        path = workspace / "config/adapters.yaml"
        text = path.read_text().replace("shaky: {kind: mock", 'shaky: {kind: mock, fail: "no luck"')
        path.write_text(text)

    def recover(self, workspace):
        return clean(worker(workspace, *RESUME))


class Perform(Scenario):
    """A rehearsed run is performed."""

    def prepare(self, workspace):
        run(worker(workspace, "--dry-run", "--max-parallel", "2"))


class Fresh(Scenario):
    """Many small jobs, so that every step comes often."""

    algos = ("plain", "buy") * 12


class Single(Scenario):
    """One job: whatever is folded has one result in it. Killed every time a point comes up, not only at first."""

    algos = ("plain",)
    hits = range(1, 13)


class Removed(Scenario):
    """Somebody removes the journal of a worker that lives."""

    algos = ("slow", "slow")
    options = (*RESUME, "--heartbeat-secs", "0.05", "--stale-secs", str(SILENCE))

    def drive(self, process, workspace):
        journals = workspace / "runs/r/state/journal"
        leases = workspace / "runs/r/state"
        wait_for(lambda: len(list(leases.glob("*.inprogress"))) == 2 or gone(process))
        if not gone(process):
            for path in journals.glob("*.jsonl"):
                path.unlink()
            wait_for(lambda: any(journals.glob("*.jsonl")) or gone(process), 3)
        (workspace / "go").touch()

    def recover(self, workspace):
        (workspace / "go").touch()
        return super().recover(workspace)


class OtherDisk(Scenario):
    """Attempts work on another disk than the one on which their results are published."""

    script = 'mount --bind "$0" "$0" && exec "$@"'

    @classmethod
    def possible(cls):
        words = ("unshare", "-m", "mount", "--bind", "/tmp", "/tmp")
        return bool(shutil.which("unshare")) and subprocess.run(words, capture_output=True).returncode == 0

    def prepare(self, workspace):
        (workspace / "runs/r/outputs/.staging").mkdir(parents=True)

    def within(self, workspace):
        return ("unshare", "-m", "sh", "-c", self.script, str(workspace / "runs/r/outputs/.staging"))

    def recover(self, workspace):
        ran = bench.run(self.command(workspace), before=self.within(workspace))
        return ended_well(ran) + super().recover(workspace)


class Rehearsal(Scenario):
    """A rehearsal is interrupted and goes on."""

    options = (*RESUME, "--dry-run")


class Retry(Scenario):
    """Failures that may pass are tried again."""

    algos = ("flaky", "plain", "flaky")
    options = (*RESUME, "--retries", "3")
    statuses = {0: ("completed", "failed"), 2: ("completed", "failed")}

    def recover(self, workspace):
        options = ("--only-status", "enqueued,running,failed", "--retries", "3")
        return clean(worker(workspace, *options))


class Stop(Scenario):
    """A person stops the worker while jobs run."""

    algos = ("slow", "slow", "slow")
    codes = (130,)

    def drive(self, process, workspace):
        leases = workspace / "runs/r/state"
        wait_for(lambda: any(leases.glob("*.inprogress")) or gone(process))
        for _ in range(2):
            if not gone(process):
                process.send_signal(signal.SIGINT)
                time.sleep(0.05)

    def release(self, workspace):
        (workspace / "go").touch()

    def recover(self, workspace):
        self.release(workspace)
        return super().recover(workspace)


class Cancel(Scenario):
    """A running job is cancelled by somebody else."""

    algos = ("slow", "slow")
    options = (*RESUME, "--heartbeat-secs", "0.05")
    statuses = {0: ("cancelled", "completed")}

    def drive(self, process, workspace):
        first = self.ids[0]
        lease = state(workspace, first, "inprogress")
        wait_for(lambda: lease.exists() or gone(process))
        time.sleep(0.05)
        if lease.parent.exists():
            state(workspace, first, "cancel").touch()
        wait_for(lambda: state(workspace, first, "cancelled").exists() or gone(process), 3)
        (workspace / "go").touch()

    def recover(self, workspace):
        (workspace / "go").touch()
        return super().recover(workspace)


class Fence(Scenario):
    """Others take the worker's jobs away or finish them first."""

    algos = ("slow", "slow", "slow")
    options = ("--only-status", "enqueued,running,failed", "--max-parallel", "3")
    options += ("--heartbeat-secs", "60")
    most = 2
    # One that dies when its late result is aside and nothing is noted leaves a question; see `check`.
    statuses = {0: ("completed", "failed")}

    def prepare(self, workspace):
        path = workspace / "config/adapters.yaml"
        text = path.read_text()
        path.write_text(text.replace("slow: {kind: mock", 'slow: {kind: mock, fail: "once"'))
        (workspace / "go").touch()
        run(worker(workspace, "--jobs", self.ids[2]))
        (workspace / "go").unlink()
        failed = state(workspace, self.ids[2], "failed")
        shutil.copy(failed, workspace / "older")
        path.write_text(text)

    def drive(self, process, workspace):
        taken = [state(workspace, job, "inprogress") for job in self.ids]
        wait_for(lambda: all(lease.exists() for lease in taken) or gone(process))
        time.sleep(0.1)
        if not gone(process):
            now = time.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00", time.gmtime())
            foreign = workspace / "runs/r/state/foreign"
            foreign.write_text(f"timestamp: {now}\npid: 1\nhost: elsewhere\n")
            os.replace(foreign, taken[0])
            done = f"timestamp: {now}\npid: 1\n"
            state(workspace, self.ids[1], "completed").write_text(done)
            shutil.copy(workspace / "older", state(workspace, self.ids[2], "failed"))
        (workspace / "go").touch()

    def check(self, workspace):
        wrong, first = super().check(workspace), self.ids[0]
        if self.rows(workspace)[first]["status"] == "failed":
            told = run(["run", "explain", "--run-id", "r", first, "--workspace", str(workspace)]).out
            kept = list((workspace / "runs/r/outputs/.late").glob(f"{first}.*/generated.glb"))
            if not any(path.parent.name in told for path in kept):
                wrong.append(f"{first}: failed, and no model that is named is kept aside")
        return wrong

    def recover(self, workspace):
        (workspace / "go").touch()
        lease = state(workspace, self.ids[0], "inprogress")
        if lease.exists() and "elsewhere" in lease.read_text():
            lease.unlink()
        return super().recover(workspace)


class Provider(Scenario):
    """A provider runs out of credit and is opened again."""

    algos = ("credit", "plain")

    def recover(self, workspace):
        wrong = []
        for _ in range(2):
            run(["adapters", "resume", "bank", "--workspace", str(workspace)])
            wrong += clean(worker(workspace, *self.options))
        return wrong


class Reopened(Provider):
    """A person opens a provider that is closed; where none is, that is said."""

    codes = (2,)

    def prepare(self, workspace):
        run(worker(workspace, *self.options))
        assert list((workspace / "runs/.providers").glob("*closed*")), "the provider was not closed"

    def command(self, workspace):
        return ["adapters", "resume", "bank", "--workspace", str(workspace)]

    def recover(self, workspace):
        return clean(self.command(workspace), (0, 2)) + clean(worker(workspace, *self.options))


class Budget(Scenario):
    """Money is reserved before each job and settled after it."""

    algos = ("plain", "bad", "buy", "plain")
    options = (*RESUME, "--budget-usd", "50")
    statuses = {1: ("failed",)}


class Batch(Scenario):
    """Jobs are made from items."""

    algos = ()
    changed = ("created_at",)

    def __init__(self, root):
        super().__init__(root)
        reference = Path(f"{self.template}-reference")
        shutil.copytree(self.template, reference)
        run(self.command(reference))
        self.before = Table.read(reference)
        self.ids = list(self.before.cells("r"))
        self.expected = {job: ("completed",) for job in self.ids}
        assert len(self.ids) == 3, self.ids

    def prepare(self, workspace):
        shutil.rmtree(workspace / "runs")
        for number in (1, 2, 3):
            folder = workspace / "dataset" / str(number) / "images"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "p_A.jpg").write_bytes(b"x")
        run(["catalog", "build", "--workspace", str(workspace)])

    def command(self, workspace):
        arguments = ["batch", "create", "--run-id", "r", "--algos", "plain"]
        return [*arguments, "--workspace", str(workspace)]

    def recover(self, workspace):
        return clean(self.command(workspace), (0,)) + clean(worker(workspace, *RESUME), (0,))


class Catalog(Batch):
    """The item table is built."""

    def prepare(self, workspace):
        super().prepare(workspace)
        (workspace / "dataset/3/images/p_B.jpg").write_bytes(b"y")

    def command(self, workspace):
        return ["catalog", "build", "--workspace", str(workspace)]

    def __init__(self, root):
        Scenario.__init__(self, root)
        reference = Path(f"{self.template}-reference")
        shutil.copytree(self.template, reference)
        run(self.command(reference))
        self.tables = {name: self.lines(reference, name) for name in self.names}
        assert len(self.tables["items.csv"]) == 4

    names = ("items.csv", "items_issues.csv")

    def lines(self, workspace, name):
        text = (workspace / "tables" / name).read_text(encoding="utf-8-sig")
        return [line for line in text.splitlines() if line]

    def again(self, workspace):
        return []

    def recover(self, workspace):
        for name in self.names:
            # Whole at every moment, old or new.
            self.lines(workspace, name)
        return clean(self.command(workspace), (0,))

    def check(self, workspace):
        wrong = [
            f"{name} is not what it should be"
            for name in self.names
            if [cut(line) for line in self.lines(workspace, name)]
            != [cut(line) for line in self.tables[name]]
        ]
        temporary = [str(path) for path in workspace.rglob("*.tmp")]
        return wrong + temporary


def cut(line):
    """Drops the time at which a line was made."""
    return ",".join(cell for cell in line.split(",") if "T" not in cell or ":" not in cell)


class Consolidate(Scenario):
    """The table is brought to what is on disk."""

    most = 2

    def prepare(self, workspace):
        run(worker(workspace, "--max-parallel", "2"))
        (workspace / "runs/r/outputs" / self.ids[1] / "generated.glb").unlink()

    def command(self, workspace):
        return ["consolidate", "--run-id", "r", "--workspace", str(workspace)]

    def recover(self, workspace):
        again = worker(workspace, "--only-status", "enqueued,running,failed")
        return clean(self.command(workspace)) + clean(again)


def gone(process):
    """Tells whether a process has come to its end, or stands still and comes to none."""
    return process.poll() is not None or is_stopped(process.pid)


ALL = [
    Fresh, Wreckage, Redo, Perform, Single, Rehearsal, Retry, Stop, Cancel, Fence, Removed, OtherDisk,
    Provider, Reopened, Budget, Batch, Catalog, Consolidate,
]
