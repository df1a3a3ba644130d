"""Workers with real programs are killed, stopped, and let down by the disk at every fault point."""

import os
import signal
import time
from collections import Counter
from functools import cache

from . import bench
from .stage import children, send
from .stories import Scene, Story

ALGOS = ("blind", "free", "keyed", "idonly")
BUDGET = ("--budget-usd", "50")
RHYTHM = ("--heartbeat-secs", "0.1", "--stale-secs", "0.6")
# Where money and models are at stake.
SHORT = ("claim.leased", "ledger.synced", "submit.synced", "made.before", "made.journalled", "finish.before",
         "finish.journalled", "publish_result.placed", "finish.unlocked", "fold.saved")
# What is folded together differs from run to run: what is asked for must have come up this much more often.
ALWAYS = 2
SHORT_FAILURES = ("journal.appending", "journal.syncing", "ledger.appending", "rename_no_replace.before", "unsynced.writing")


@cache
def reached():
    """Counts how often a worker with programs reaches each point if nothing happens."""
    with Scene(ALGOS) as scene:
        trace = scene.outside / "trace"
        ran = scene.run("--max-parallel", "2", *BUDGET, trace=trace)
        if ran.code != 0:
            raise RuntimeError(f"without a fault it ended with {ran.code}: {ran.err[-300:]}")
        return Counter(trace.read_text().split())


class Unreached(Exception):
    """Nothing happened, so nothing is proven."""


def insistent(tell):
    """Returns a story that is told again if its point was not reached, which a busy machine can do."""

    def told():
        for _ in range(3):
            try:
                return tell()
            except Unreached as where:
                never = [f"never reached: {where}"]
        return never

    return told


def at_point(point, action, time_=1):
    """The worker dies, or its disk fails, at a point, for the first or a later time."""

    def tell():
        skipped = f"{time_ - 1}*off->" if time_ > 1 else ""
        with Scene(ALGOS) as scene:
            trace = scene.outside / "trace"
            faults = f"{point}={skipped}1*return({action})"
            ran = scene.run("--max-parallel", "2", *BUDGET, faults=faults, trace=trace)
            if Counter(trace.read_text().split())[point] < time_:
                raise Unreached(f"{point}, {time_} times")
            scene.mend(*BUDGET, ran=ran)
            # A job whose folder or whose purchase could not be written down has failed, which is no loss.
            endings = ("completed",) if action == "kill" else ("completed", "failed")
            return scene.judge(f"{point}-{action}-{time_}", cap=50, endings=endings)

    return insistent(tell)


def unnoted_intent():
    """The disk refuses the intent of a program that waits for no answer and has bought meanwhile."""
    with Scene(("blind",)) as scene:
        scene.hold("making")
        faults = "intent.before=1*return(stop);purchase.syncing=1*return(ENOSPC)"
        guard = scene.start("--max-parallel", "2", *BUDGET, faults=faults)
        bench.wait_for(lambda: guard.poll() is not None or (stopped(guard) and scene.provider.charges()))
        if not (stopped(guard) and scene.provider.charges()):
            raise Unreached("a purchase without a noted intent")
        for pid in (guard.pid, *children(guard.pid)):
            send(pid, signal.SIGCONT)
        ran = bench.finish(guard)
        scene.release()
        if "may have bought" not in ran.err:
            raise Unreached("an intent that was not noted")
        scene.mend(*BUDGET, ran=ran)
        return scene.judge("unnoted-intent", cap=50, endings=("completed", "failed"))


def guard_killed(point):
    """The worker stands still at a point; its guard is killed; the worker goes on without it."""

    def tell():
        with Scene(ALGOS) as scene:
            guard = scene.start("--max-parallel", "2", *BUDGET, faults=f"{point}=1*return(stop)")
            bench.wait_for(lambda: guard.poll() is not None or stopped(guard))
            if not stopped(guard):
                raise Unreached(point)
            workers = children(guard.pid)
            send(guard.pid, signal.SIGKILL)
            for pid in workers:
                send(pid, signal.SIGCONT)
            ran = bench.finish(guard)
            bench.wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))
            scene.mend(*BUDGET, ran=ran)
            return scene.judge(f"{point}-guard", cap=50)

    return insistent(tell)


def woken(point):
    """The worker stands still at a point until another has its jobs, and wakes."""

    def tell():
        with Scene(ALGOS) as scene:
            guard = scene.start("--max-parallel", "2", *RHYTHM, faults=f"{point}=1*return(stop)")
            bench.wait_for(lambda: guard.poll() is not None or stopped(guard))
            if not stopped(guard):
                raise Unreached(point)
            time.sleep(0.9)
            successor = scene.start("--only-status", "enqueued,running", *RHYTHM)
            bench.wait_for(lambda: successor.poll() is not None, 3)
            for pid in (guard.pid, *children(guard.pid)):
                send(pid, signal.SIGCONT)
            for process in (successor, guard):
                bench.finish(process)
            scene.mend()
            return scene.judge(f"{point}-woken")

    return insistent(tell)


def stopped(guard):
    return any(bench.is_stopped(pid) for pid in (guard.pid, *children(guard.pid)))


def stories():
    found = []
    times = reached()
    # Every point that a worker with programs comes by, and those named above in any case.
    for point in [point for point in bench.points() if times[point] or point in SHORT]:
        found.append(Story(f"programs: killed at {point}", at_point(point, "kill"), point in SHORT))
        if times[point] >= 3 * ALWAYS:
            found.append(Story(f"programs: killed at {point}, time 3", at_point(point, "kill", 3), False))
        short = point == "made.journalled"
        found.append(Story(f"programs: guard killed at {point}", guard_killed(point), short))
        short = point in ("made.before", "finish.locked")
        found.append(Story(f"programs: woken at {point}", woken(point), short))
    for point in [point for point in bench.failing_points() if times[point] or point in SHORT_FAILURES]:
        for error in ("ENOSPC", "EIO"):
            short = error == "ENOSPC" and point in SHORT_FAILURES
            found.append(Story(f"programs: {error} at {point}", at_point(point, error), short))
            if times[point] >= 4 * ALWAYS:
                name = f"programs: {error} at {point}, time 4"
                found.append(Story(name, at_point(point, error, 4), False))
    found.append(Story("programs: an intent that cannot be noted", insistent(unnoted_intent)))
    return found
