"""Situations in which money is at stake: a spending limit, results used again, paused algorithms,
limits of providers."""

import json

from .bench import run, worker
from .scenarios import RESUME, Scenario, clean

CAP = 1.3
PRICE = 0.4


def ledger(workspace):
    """Reads the ledger as anybody could: every line that is whole, in order."""
    path = workspace / "tables/budget.jsonl"
    entries = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue  # Its writer did not come to end it.
    return entries


def check_ledger(workspace, cap, completed, called):
    """The limit held at every moment and was used up; what is spent or reserved covers what was completed,
    and no more than was ever begun."""
    wrong, spent, reserved, settled = [], 0.0, {}, set()
    for entry in ledger(workspace):
        job, nonce = entry["job_id"], entry["nonce"]
        if entry["event"] == "reserved":
            reserved[job] = (nonce, entry["usd"])
        elif nonce in settled:
            wrong.append(f"{job}: settled twice")
        else:
            settled.add(nonce)
            spent += entry["usd"]
            if reserved.get(job, (None,))[0] == nonce:
                del reserved[job]
        committed = spent + sum(usd for _, usd in reserved.values())
        if committed > cap + 1e-9:
            wrong.append(f"{committed:.2f} of {cap} were spent or reserved")
    committed = spent + sum(usd for _, usd in reserved.values())
    if not PRICE * completed - 1e-9 <= committed <= PRICE * called + 1e-9:
        wrong.append(f"{committed:.2f} are booked for {completed} results and {called} calls at {PRICE}")
    if spent < PRICE * completed - 1e-9:
        wrong.append(f"{spent:.2f} were settled for {completed} results at {PRICE}")
    if committed + PRICE <= cap:
        wrong.append(f"jobs wait although only {committed:.2f} of {cap} are used")
    return wrong


def executions(workspace):
    """Returns by job how often its adapter was called without a purchase to go on with."""
    path, counts = workspace / "count.txt", {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if "resumes" not in line:
            job = line.split()[0]
            counts[job] = counts.get(job, 0) + 1
    return counts


class Capped(Scenario):
    """A spending limit allows three of five jobs; one that fails costs nothing."""

    algos = ("plain", "bad", "buy", "plain", "buy", "plain")
    options = (*RESUME, "--budget-usd", str(CAP))
    # One that was cut off may have been billed: its money is used up, and none is left to make it again.
    statuses = {**dict.fromkeys(range(6), ("completed", "enqueued", "failed")), 1: ("failed",)}
    codes = (4,)

    def recover(self, workspace):
        return clean(worker(workspace, *self.options), (4,))

    def again(self, workspace):
        options = ("--only-status", "enqueued,running,failed")
        return clean(worker(workspace, *options, *self.options[2:]), (4,))

    def check(self, workspace):
        rows = self.rows(workspace)
        paid = sum(cells["status"] == "completed" for cells in rows.values())
        called = sum(times for job, times in executions(workspace).items() if job != self.ids[1])
        wrong = [] if paid == 3 or called > paid else [f"{paid} jobs were paid for under the limit"]
        wrong += check_ledger(workspace, CAP, paid, called)
        return wrong + super().check(workspace)


class Reuse(Scenario):
    """Jobs of the same picture copy the one result there is."""

    algos = ("plain",) * 5
    options = (*RESUME, "--reuse")

    def prepare(self, workspace):
        run(worker(workspace, "--jobs", self.ids[0]))

    def again(self, workspace):
        return clean(worker(workspace, "--only-status", "enqueued,running,failed", "--reuse"))

    def check(self, workspace):
        made = executions(workspace)
        wrong = [] if made == {self.ids[0]: 1} else [f"made instead of copied: {made}"]
        return wrong + super().check(workspace)


class Breaker(Scenario):
    """An algorithm that was paused after its failures is tried again."""

    algos = ("broken", "broken", "broken", "broken", "plain")
    statuses = dict.fromkeys(range(4), ("failed", "enqueued"))

    def prepare(self, workspace):
        run(worker(workspace, "--max-parallel", "1", "--algo", "broken"))
        paused = list((workspace / "runs/.providers").glob("*.paused.json"))
        assert paused, "the algorithm was not paused"

    def check(self, workspace):
        folder = workspace / "runs/.providers"
        wrong = []
        for path in folder.glob("*.paused.json"):
            try:
                json.loads(path.read_text())
            except ValueError:
                wrong.append(f"{path.name} cannot be read")
        return wrong + super().check(workspace)


class Limited(Scenario):
    """A provider allows one job at a time and so many in a minute."""

    algos = ("limited",) * 4

    def check(self, workspace):
        wrong = []
        for path in (workspace / "runs/.providers").glob("*.rate"):
            if not path.read_text().strip().isdigit():
                wrong.append(f"{path.name} holds no time: {path.read_bytes()!r}")
        return wrong + super().check(workspace)


ALL = [Capped, Reuse, Breaker, Limited]
