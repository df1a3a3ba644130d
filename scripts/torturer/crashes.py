"""Kills the program at every fault point, and makes the disk fail at every one that can."""

import os
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from . import bench, money, repairs, scenarios
from .bench import worker
from .scenarios import clean

ALL = scenarios.ALL + money.ALL + repairs.ALL
# Points that only a scenario reaches which needs root. Every other one has to be reached, and to fire.
NEED_ROOT = {"move.copied": "a second disk", "move.renamed": "a second disk"}

# What is folded together, for one, differs from run to run: how often every home of a point is tried.
INSIST = 3


def out_of_reach():
    """Returns the points that cannot be reached on this machine, with the reason."""
    # tests/it/fleet and tests/it/service kill there, beside a server.
    of_fleets = {point: "a server" for point in bench.points() if point.startswith(("objects.", "push.", "pull.", "submit.", "retry.", "again.", "spool."))}
    return of_fleets | ({} if scenarios.OtherDisk.possible() else NEED_ROOT)


def torture(short=False, only=None, say=print):
    """Returns the figures and what went wrong."""
    root = bench.scratch("points")
    try:
        return Torture(root, short, only, say).run()
    finally:
        shutil.rmtree(root, ignore_errors=True)


class Torture:
    def __init__(self, root, short, only, say):
        self.root, self.short, self.only, self.say = root, short, only, say
        self.wrong = []

    def run(self):
        points = bench.points()
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            chosen = [kind for kind in ALL if self.only in (None, kind.__name__.lower()) and kind.possible()]
            made = list(pool.map(lambda kind: kind(self.root), chosen))
            reached = dict(zip((s.name for s in made), pool.map(self.trace, made)))
            kills = self.kill_tasks(points, made, reached)
            killed = [dead for found in pool.map(lambda task: self.kill_in(*task), kills) for dead in found]
            failures = self.failure_tasks(made, reached)
            failed = [end for found in pool.map(lambda task: self.fail_in(*task), failures) for end in found]
        fired, refused = set(killed), {(point, error) for point, error, _ in failed}
        self.demand(points, fired, {task[1:] for task in failures}, refused)
        codes = Counter(str(code) for _, _, code in failed)
        figures = {
            "points": len(points),
            "fired": len(fired),
            "kills": len(killed),
            "io_errors": len(failed),
            "io_exit_codes": dict(sorted(codes.items())),
        }
        if out_of_reach() and not self.only:
            figures["not tried"] = out_of_reach()
        return figures, self.wrong

    def demand(self, points, fired, failures, refused):
        """A point at which nothing happened has proven nothing."""
        if self.only:
            return
        wanted = [point for point in points if point not in out_of_reach()]
        self.wrong += [f"never fired: {point}" for point in wanted if point not in fired]
        failing = [point for point in bench.failing_points() if point in wanted and point not in {p for p, *_ in failures}]
        self.wrong += [f"no scenario lets the disk fail at {point}" for point in failing]
        for point, _, error in failures:
            if (point, error) not in refused:
                self.wrong.append(f"the disk never said {error} at {point}")

    def trace(self, scenario):
        """Runs a scenario without faults; returns how often it reaches each point."""
        workspace = self.copy(scenario, "trace")
        trace = self.root / f"{scenario.name}.trace"
        scenario.suffer(workspace, trace=trace)
        self.judge(scenario, workspace, "without a fault")
        return Counter(trace.read_text().split())

    def kill_tasks(self, points, made, reached):
        """Returns homes, point and time of every kill. The short form is content with the first home in which
        the point fires: what is folded together, for one, differs from run to run."""
        tasks = []
        for point in points:
            homes = [s for s in made if point in reached[s.name]]
            if self.short:
                tasks += [(homes, point, 1)] if homes else []
                continue
            for scenario in homes:
                hits = [n for n in scenario.hits if n <= reached[scenario.name][point]]
                tasks += [([scenario], point, n) for n in hits]
        return tasks

    def failure_tasks(self, made, reached):
        tasks = []
        for point in bench.failing_points():
            homes = [s for s in made if point in reached[s.name]]
            if self.short:
                tasks += [(homes, point, 1, "ENOSPC")] if homes else []
                continue
            for scenario in homes:
                hits = [n for n in (1, 2) if n <= reached[scenario.name][point]]
                tasks += [([scenario], point, n, error) for n in hits for error in ("EIO", "ENOSPC")]
        return tasks

    def kill_in(self, homes, point, n):
        """Kills in the first home in which the point fires; returns the point if there is one."""
        return [point] if any(self.kill(scenario, point, n) for scenario in INSIST * homes) else []

    def fail_in(self, homes, point, n, error):
        """Lets the disk fail in the first home in which the point is reached; returns how that ended."""
        for scenario in INSIST * homes:
            code, met = self.fail(scenario, point, n, error)
            if met:
                return [(point, error, code)]
        return []

    def kill(self, scenario, point, n):
        label = f"{scenario.name}: killed at {point}, time {n}"
        workspace = self.copy(scenario, f"{point}-{n}")
        skipped = f"{n - 1}*off->" if n > 1 else ""
        ran = scenario.suffer(workspace, faults=f"{point}={skipped}1*return(kill)")
        if not ran.killed and ran.code not in (0, 1, 130, *scenario.codes):
            self.wrong.append(f"{label}: not killed, but ended with {ran.code}: {ran.err[-300:]}")
        self.judge(scenario, workspace, label)
        return ran.killed

    def fail(self, scenario, point, n, error):
        label = f"{scenario.name}: {error} at {point}, time {n}"
        workspace = self.copy(scenario, f"{point}-{n}-{error}")
        skipped = f"{n - 1}*off->" if n > 1 else ""
        trace = self.root / f"{workspace.name}.trace"
        ran = scenario.suffer(workspace, faults=f"{point}={skipped}1*return({error})", trace=trace)
        met = trace.exists() and Counter(trace.read_text().split())[point] >= n
        trace.unlink(missing_ok=True)
        # Done all the same, some jobs failed, the disk failed, or stopped as asked: with a word.
        if ran.code not in (0, 1, 3, 130, *scenario.codes) or (ran.code == 3 and not ran.err.strip()):
            self.wrong.append(f"{label}: ended with {ran.code}: {ran.err[-300:]}")
        self.judge(scenario, workspace, label, after_error=True)
        return ran.code, met

    def judge(self, scenario, workspace, label, after_error=False):
        wrong = scenario.recover(workspace)
        for _ in range(4):
            if has_wreckage(workspace):
                # In a copy only silence tells that a holder is dead. A start may break it once for each job, and
                # what is not dead beyond doubt keeps its files until the next one.
                time.sleep(2 * scenarios.SILENCE)
                wrong += clean(worker(workspace, *scenarios.RESUME))
        if after_error:
            # A job whose own files could not be written has failed, which is no loss.
            wrong += scenario.again(workspace)
        wrong += scenario.check(workspace)
        if wrong:
            kept = f"/tmp/archi3d-torture-{os.getpid()}-{workspace.name}"
            shutil.copytree(workspace, kept, dirs_exist_ok=True, symlinks=True)
            self.wrong += [f"{label}: {line} (kept in {kept})" for line in wrong]
            self.say(f"  WRONG {label}: {wrong[0]}")
        shutil.rmtree(workspace, ignore_errors=True)

    def copy(self, scenario, name):
        workspace = self.root / f"{scenario.name}-{name}"
        shutil.copytree(scenario.template, workspace, symlinks=True)
        return workspace


def has_wreckage(workspace):
    run = workspace / "runs/r"
    return any(run.glob("state/*.inprogress")) or any(run.glob("outputs/.staging/*"))
