"""Stops the program at every fault point for longer than silence is borne, lets a successor take its
work, and wakes it again: the zombie must not publish over its successor."""

import hashlib
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from . import bench, crashes, scenarios
from .bench import finish, is_stopped, start
from .oracle import Table

STALE = 1.0
RHYTHM = ("--heartbeat-secs", "0.2", "--stale-secs", str(STALE))
# How long a successor may wait for a lock that the stopped one holds, which nobody can take away.
PATIENCE = 3.0
SHORT_HOMES = [scenarios.Fresh, scenarios.Single]


def torture(short=False):
    root = bench.scratch("stops")
    try:
        return Stops(root).run(short)
    finally:
        shutil.rmtree(root, ignore_errors=True)


class Stops(crashes.Torture):
    def __init__(self, root):
        super().__init__(root, False, None, print)

    def run(self, short):
        points = bench.points()
        with ThreadPoolExecutor(8) as pool:
            homes = SHORT_HOMES if short else [kind for kind in crashes.ALL if kind.possible()]
            made = list(pool.map(lambda kind: kind(self.root), homes))
            for scenario in made:
                # Both are told to make results again, and both do.
                scenario.most += isinstance(scenario, scenarios.Redo)
            reached = dict(zip((s.name for s in made), pool.map(self.trace, made)))
            homes = {point: [s for s in made if point in reached[s.name]] for point in points}
            if short:
                points = [point for point in points if homes[point]]
                points = points[:: max(1, len(points) // 8)]
            points = [point for point in points if point not in crashes.out_of_reach()]
            results = list(pool.map(lambda point: self.stop_in(homes[point], point), points))
        figures = {
            "stopped at": len(results) - results.count(None),
            "successor finished first": results.count("finished"),
            "successor had to wait for a lock": results.count("waited"),
            "published over a successor": sum("published over" in line for line in self.wrong),
        }
        return figures, self.wrong

    def stop_in(self, homes, point):
        """Stops in the first home in which the point is reached; one that is reached nowhere proves nothing."""
        for scenario in crashes.INSIST * homes:
            outcome = self.stop(scenario, point)
            if outcome:
                return outcome
        self.wrong.append(f"never stopped at {point}, in {[s.name for s in homes]}")
        return None

    def stop(self, scenario, point):
        label = f"{scenario.name}: stopped at {point}"
        workspace = self.copy(scenario, f"{point}-stop")
        arguments = scenario.command(workspace)
        if arguments[:2] == ["run", "worker"] and RHYTHM[0] not in arguments:
            arguments = [*arguments, *RHYTHM]
        scenario.begin(workspace)
        before = scenario.within(workspace)
        zombie = start(arguments, faults=f"{point}=1*return(stop)", before=before)
        scenario.drive(zombie, workspace)
        bench.wait_for(lambda: is_stopped(zombie.pid) or zombie.poll() is not None, 30)
        outcome = None
        if is_stopped(zombie.pid):
            scenario.release(workspace)
            time.sleep(STALE * 1.5)
            successor = start(arguments, before=before)
            bench.wait_for(lambda: successor.poll() is not None, PATIENCE)
            outcome = "waited" if successor.poll() is None else "finished"
            before = published(workspace)
            os.kill(zombie.pid, signal.SIGCONT)
            self.judge_ended(label, scenario, finish(successor))
            self.judge_ended(label, scenario, finish(zombie))
            # Who was told to make results again does so with whatever is there when it wakes.
            if outcome == "finished" and not isinstance(scenario, scenarios.Redo):
                # What was there from the start, such as rehearsals, is nobody's yet.
                old = published(scenario.template)
                mine = {job: seen for job, seen in before.items() if seen[:2] != old.get(job, ())[:2]}
                self.compare(label, mine, published(workspace))
        else:
            # What is folded together, for one, differs from run to run: another home has to reach it.
            scenario.release(workspace)
            self.judge_ended(label, scenario, finish(zombie))
        self.judge(scenario, workspace, label)
        return outcome

    def judge_ended(self, label, scenario, ran):
        if ran.code not in (0, 1, 3, *scenario.codes):
            self.wrong.append(f"{label}: ended with {ran.code}: {ran.err[-300:]}")

    def compare(self, label, before, after):
        for job, seen in before.items():
            if after.get(job) != seen:
                self.wrong.append(f"{label}: {job}: published over: {seen} is {after.get(job)}")


def published(workspace):
    """Returns what is finished of run `r`: its row, and its model."""
    path = workspace / "tables/generations.csv"
    if not path.exists():
        return {}
    try:
        rows = Table.read(workspace).cells("r")
    except ValueError:
        return {}  # It was spoilt on purpose and is not mended so far.
    found = {}
    for job, cells in rows.items():
        if cells["status"] == "completed":
            model = workspace / "runs/r/outputs" / job / "generated.glb"
            content = hashlib.sha1(model.read_bytes()).hexdigest() if model.exists() else None
            inode = model.stat().st_ino if model.exists() else None
            found[job] = (cells.get("generation_start"), cells.get("generation_end"), content, inode)
    return found
