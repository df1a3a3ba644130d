"""Kills the program at every fault point, and makes the disk fail at every one that can."""

import os
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from . import bench, money, repairs, scenarios
from .bench import worker
from .scenarios import clean

HITS = (1, 2, 5)
# A second disk for staging, a run's folder that is moved while its journal is open (a story does that), and
# a provider whose time is just over: no scenario sets these up so that they are always reached.
UNREACHED = ("journal.made_again", "move.copied", "move.renamed", "provider.opened")
ALL = scenarios.ALL + money.ALL + repairs.ALL


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
            chosen = [kind for kind in ALL if self.only in (None, kind.__name__.lower())]
            made = list(pool.map(lambda kind: kind(self.root), chosen))
            reached = dict(zip((s.name for s in made), pool.map(self.trace, made)))
            kills = self.kill_tasks(points, made, reached)
            killed = list(pool.map(lambda task: self.kill(*task), kills))
            failures = self.failure_tasks(made, reached)
            failed = list(pool.map(lambda task: self.fail(*task), failures))
        never = [p for p in points if not any(p in counts for counts in reached.values())]
        never = [point for point in never if point not in UNREACHED]
        if never and not self.only and not self.short:
            self.wrong += [f"no scenario reaches {point}" for point in never]
        fired = {point for (_, point, _), dead in zip(kills, killed) if dead}
        if not self.only:
            unfired = [p for p in points if p not in fired and p not in never]
            # Some are reached in one run and not in the next: only many rounds can demand them all.
            if not self.short:
                self.wrong += [f"never fired: {p}" for p in unfired if p not in UNREACHED]
        codes = Counter(str(code) for code in failed)
        figures = {
            "points": len(points),
            "fired": len(fired),
            "without a scenario": sum(point in UNREACHED for point in points if point not in fired),
            "kills": sum(killed),
            "io_errors": len(failed),
            "io_exit_codes": dict(sorted(codes.items())),
        }
        return figures, self.wrong

    def trace(self, scenario):
        """Runs a scenario without faults; returns how often it reaches each point."""
        workspace = self.copy(scenario, "trace")
        trace = self.root / f"{scenario.name}.trace"
        scenario.suffer(workspace, trace=trace)
        self.judge(scenario, workspace, "without a fault")
        return Counter(trace.read_text().split())

    def kill_tasks(self, points, made, reached):
        tasks = []
        for point in points:
            homes = [s for s in made if point in reached[s.name]]
            if self.short:
                tasks += [(scenario, point, 1) for scenario in homes[:1]]
                continue
            for scenario in homes:
                hits = [n for n in HITS if n <= reached[scenario.name][point]]
                tasks += [(scenario, point, n) for n in hits]
        return tasks

    def failure_tasks(self, made, reached):
        tasks = []
        for point in bench.failing_points():
            homes = [s for s in made if point in reached[s.name]]
            for scenario in homes[:1] if self.short else homes:
                for error in ("ENOSPC",) if self.short else ("EIO", "ENOSPC"):
                    for n in (1,) if self.short else (1, 2):
                        if n <= reached[scenario.name][point]:
                            tasks.append((scenario, point, n, error))
        return tasks

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
        ran = scenario.suffer(workspace, faults=f"{point}={skipped}1*return({error})")
        # Done all the same, some jobs failed, the disk failed, or stopped as asked: with a word.
        if ran.code not in (0, 1, 3, 130, *scenario.codes) or (ran.code == 3 and not ran.err.strip()):
            self.wrong.append(f"{label}: ended with {ran.code}: {ran.err[-300:]}")
        self.judge(scenario, workspace, label, after_error=True)
        return ran.code

    def judge(self, scenario, workspace, label, after_error=False):
        wrong = scenario.recover(workspace)
        for _ in range(2):
            if has_wreckage(workspace):
                # In a copy only silence tells that a holder is dead. A start may break it once, and what is
                # not dead beyond doubt keeps its files until the next one.
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
