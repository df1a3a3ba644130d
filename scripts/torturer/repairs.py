"""Situations in which a person sets something right: takes jobs out of a run and puts them back,
makes the registry again, mends what the doctor found."""

import os
import signal
import subprocess

from . import bench
from .bench import run, state, wait_for, worker
from .money import executions
from .oracle import Table
from .scenarios import RESUME, Batch, Scenario, clean, die_at, gone


def cancel(workspace, *options):
    return ["run", "cancel", "--run-id", "r", "--workspace", str(workspace), "--yes", *options]


class Withdraw(Scenario):
    """A person takes all jobs out of the run: waiting ones, one whose worker died after it had
    bought something, and one that a worker is carrying out."""

    algos = ("slow", "plain", "plain", "buy")
    statuses = dict.fromkeys(range(4), ("cancelled",))

    def __init__(self, root):
        super().__init__(root)
        self.holders = {}

    def prepare(self, workspace):
        die_at(workspace, self.ids[3], "submit.in_lease")

    def command(self, workspace):
        return cancel(workspace)

    def begin(self, workspace):
        options = ("--jobs", self.ids[0], "--heartbeat-secs", "0.05")
        holder = bench.start(worker(workspace, *options), output=subprocess.DEVNULL)
        self.holders[workspace] = holder
        wait_for(lambda: state(workspace, self.ids[0], "inprogress").exists() or gone(holder))

    def recover(self, workspace):
        wrong = clean(self.command(workspace), (0,))
        holder = self.holders.pop(workspace)
        wait_for(lambda: gone(holder), 20)
        if not gone(holder):
            wrong.append("the running job was not stopped")
            os.killpg(holder.pid, signal.SIGKILL)
            holder.wait()
        # Nothing is left to take out, so what a dead holder left goes with the next start.
        return wrong + clean(worker(workspace, *RESUME), (0,))

    def again(self, workspace):
        return []

    def check(self, workspace):
        bought = executions(workspace)
        wrong = [] if bought == {self.ids[3]: 1} else [f"executed: {bought}"]
        return wrong + super().check(workspace)


class Restore(Scenario):
    """Jobs that were taken out are put back; what was bought for one is fetched."""

    algos = ("plain", "plain", "buy")

    def prepare(self, workspace):
        die_at(workspace, self.ids[2], "submit.in_lease")
        run(cancel(workspace))
        rows = Table.read(workspace).cells("r")
        found = [cells["status"] for cells in rows.values()]
        assert found == ["cancelled"] * 3, found

    def command(self, workspace):
        return cancel(workspace, "--undo")

    def recover(self, workspace):
        wrong = clean(self.command(workspace), (0,))
        return wrong + clean(worker(workspace, *RESUME), (0,))

    def check(self, workspace):
        bought = executions(workspace).get(self.ids[2])
        wrong = [] if bought == 1 else [f"bought {bought} times"]
        return wrong + super().check(workspace)


class Rebuild(Batch):
    """A registry that lost its end is made again from what is recorded."""

    def prepare(self, workspace):
        super().prepare(workspace)
        run(Batch.command(self, workspace))
        self.table = workspace / "tables/generations.csv"
        run(worker(workspace, *RESUME))
        whole = self.table.read_bytes()
        # Rows of the other run are recorded nowhere, so the cut is behind them.
        last = whole.rindex(b",r,")
        self.whole, self.spoilt = whole, whole[: last + 20]
        self.table.write_bytes(self.spoilt)

    def command(self, workspace):
        return ["registry", "rebuild", "--workspace", str(workspace)]

    def recover(self, workspace):
        now = (workspace / "tables/generations.csv").read_bytes()
        wrong = [] if now in (self.whole, self.spoilt) else ["the registry is neither old nor new"]
        wrong += clean(self.command(workspace), (0,))
        if (workspace / "tables/generations.csv").read_bytes() != self.whole:
            wrong.append("the registry is not what it was")
        kept = (workspace / "tables").glob("generations.csv.before-rebuild-*")
        if not any(path.read_bytes() == self.spoilt for path in kept):
            wrong.append("the spoilt registry was not kept")
        return wrong + clean(worker(workspace, *RESUME), (0,))


class Doctor(Batch):
    """What the doctor can mend is mended: a dead worker's lease, an ending that is only in its
    journal, rows without a record, what a dead writer left beside the table."""

    def prepare(self, workspace):
        super().prepare(workspace)
        run(Batch.command(self, workspace))
        ids = list(Table.read(workspace).cells("r"))
        die_at(workspace, ids[0], "claim.leased")
        die_at(workspace, ids[1], "finish.journalled")
        (workspace / "runs/r/rows.csv").unlink()
        half = workspace / "tables/.generations.csv.h-1-x.tmp"
        half.write_text("half")
        # Old enough that nobody can be writing it.
        os.utime(half, (0, 0))

    def command(self, workspace):
        return ["doctor", "--fix", "--yes", "--workspace", str(workspace)]

    def recover(self, workspace):
        wrong = clean(self.command(workspace))
        if not (workspace / "runs/r/rows.csv").exists():
            wrong.append("the rows were not recorded")
        return wrong + clean(worker(workspace, *RESUME), (0,))


class Adopt(Scenario):
    """A result that was kept aside, because somebody else had taken the job, is brought in."""

    algos = ("slow", "plain")
    most = 2
    codes = (2,)

    def prepare(self, workspace):
        first = self.ids[0]
        options = ("--jobs", first, "--heartbeat-secs", "60")
        process = bench.start(worker(workspace, *options), faults="fence.aside=1*return(kill)")
        lease = state(workspace, first, "inprogress")
        wait_for(lambda: lease.exists() or gone(process))
        foreign = workspace / "runs/r/state/foreign"
        foreign.write_text("timestamp: 2026-01-01T00:00:00.000000+00:00\npid: 1\nhost: elsewhere\n")
        os.replace(foreign, lease)
        (workspace / "go").touch()
        bench.finish(process)
        lease.unlink(missing_ok=True)
        # The next start would bring it in: it is out of reach until the job has failed.
        late, away = workspace / "runs/r/outputs/.late", workspace / "away"
        os.rename(late, away)
        for path in (workspace / "runs/r/state/journal").glob("*.jsonl"):
            path.unlink()
        settings = workspace / "config/adapters.yaml"
        text = settings.read_text()
        settings.write_text(text.replace("slow: {kind: mock", 'slow: {kind: mock, fail: "once"'))
        run(worker(workspace, "--jobs", first, *RESUME))
        settings.write_text(text)
        os.rename(away, late)
        found = self.rows(workspace)[first]["status"]
        assert found == "failed", found

    def command(self, workspace):
        return ["run", "adopt", "--run-id", "r", self.ids[0], "--workspace", str(workspace)]

    def recover(self, workspace):
        # What is adopted already is refused.
        return clean(self.command(workspace), (0, 1, 2)) + clean(worker(workspace, *RESUME))


ALL = [Withdraw, Restore, Rebuild, Doctor, Adopt]
