"""Guard, worker and programs are killed, each alone and together, at every step of a purchase; programs
linger after `result`, large results are being hashed, and workers freeze past their lease."""

import os
import signal
import time

from . import bench
from .stage import KINDS, children, send
from .stories import Scene, Story

STEPS = ("started", "buying", "bought", "submitted", "making", "made", "said")
WHO = (("worker",), ("guard",), ("adapter",), ("guard", "worker", "adapter"))
ALL_KINDS = tuple(name for name in KINDS if name != "rerun")
# Who says no id has no step at which it has just said one.
WITH_IDS = tuple(name for name, (_, ways) in KINDS.items() if ways and ways.get("ids"))
PAID = tuple(name for name in ALL_KINDS if KINDS[name][1] is not None)


def kinds_at(step):
    return {"submitted": WITH_IDS, "buying": PAID, "bought": PAID}.get(step, ALL_KINDS)


def killed_at(step, who):
    """All ways to shop at once, killed while every program is at one step."""

    def tell():
        algos = kinds_at(step)
        with Scene(algos) as scene:
            scene.hold(step)
            many = ("--max-parallel", str(len(algos)), "--budget-usd", "50")
            guard = scene.start(*many)
            scene.wait_held(step, len(algos))
            if step == "said":
                # A model of which the worker was told is never a doubt.
                scene.wait_told()
            time.sleep(0.02)
            scene.kill(guard, *who)
            scene.release() if who == ("adapter",) else bench.wait_for(lambda: not alive(scene))
            ran = bench.finish(guard)
            scene.release()
            scene.mend("--budget-usd", "50", ran=ran)
            # A program that was ended from outside has failed, which is no loss.
            endings = ("completed", "failed") if who == ("adapter",) else ("completed",)
            return scene.judge(f"{step}-{'-'.join(who)}", cap=50, endings=endings, doubts=step != "said")

    return tell


def alive(scene):
    return any(children(guard.pid) for guard in scene.started if guard.poll() is None)


def lingering(who, told):
    """Programs tidy up after `result`, deaf to requests to end; all is killed in the meantime: when a journal
    has every result, or (`told` is false) as soon as the last program has said its own."""

    def tell():
        algos = ("keyed", "idonly", "blind", "warned", "free")
        with Scene(algos, deaf=True, previews=2, folder=True) as scene:
            scene.hold("said")
            guard = scene.start("--max-parallel", "5")
            scene.wait_told() if told else scene.wait_said()
            scene.kill(guard, *who)
            ran = ended_without(scene, guard, who)
            scene.mend(ran=ran)
            doubts = False if told else "untold"
            return scene.judge(f"lingering-{'-'.join(who)}-{told}", doubts=doubts)

    return tell


def ended_without(scene, guard, who):
    """Returns how the rest came to its end; where only programs were killed, none is held any more."""
    if who == ("adapter",):
        scene.release()
    ran = bench.finish(guard)
    scene.release()
    return ran


def unheard():
    """Programs say that they succeeded to a worker that stands still and is killed before it hears them: their
    models are whole, and nobody but a person can know, also where an interruption is to be made up for."""
    algos = ("keyed", "keyonly", "idonly", "blind", "rerun", "warned", "free")
    with Scene(algos) as scene:
        scene.hold("made")
        scene.hold("said")
        guard = scene.start("--max-parallel", str(len(algos)))
        scene.wait_held("made", len(algos))
        for pid in children(guard.pid):
            send(pid, signal.SIGSTOP)
        scene.release("made")
        scene.wait_said()
        told = scene.told_made()
        scene.kill(guard, "worker")
        ran = bench.finish(guard)
        scene.release()
        scene.mend(ran=ran)
        wrong = [f"{job}: was heard" for job in told]
        return wrong + scene.judge("unheard", doubts="untold")


def while_hashing(megabytes, moment):
    """The worker dies while it looks at a large result."""

    def tell():
        with Scene(("keyed", "blind"), size_kb=megabytes << 10) as scene:
            guard = scene.start("--max-parallel", "2")
            scene.wait_told()
            time.sleep(moment)
            scene.kill(guard, "worker")
            ran = bench.finish(guard)
            scene.mend(ran=ran)
            return scene.judge(f"hashing-{moment}", doubts=False)

    return tell


def frozen(step, whole):
    """A worker stands still for longer than its lease, at a step of its programs, and wakes when another
    has its jobs; `whole` freezes its programs too."""

    def tell():
        rhythm = ("--heartbeat-secs", "0.1", "--stale-secs", "0.6")
        algos = ("keyed", "looked", "idonly", "blind")
        with Scene(algos) as scene:
            scene.hold(step)
            guard = scene.start("--max-parallel", "4", *rhythm)
            scene.wait_held(step, 4)
            if step == "said":
                scene.wait_told()
            worker = children(guard.pid)
            frozen_ones = [guard.pid, *worker]
            if whole:
                frozen_ones += [pid for parent in worker for pid in children(parent)]
            for pid in frozen_ones:
                send(pid, signal.SIGSTOP)
            if not whole:
                scene.release()
            successor = scene.start("--only-status", "enqueued,running", "--max-parallel", "4", *rhythm)
            if whole:
                bench.wait_for(lambda: len(scene.held(step)) + finished(scene) >= 4, 5)
                scene.release()
            bench.wait_for(lambda: successor.poll() is not None, 6)
            for pid in frozen_ones:
                send(pid, signal.SIGCONT)
            for process in (successor, guard):
                bench.finish(process)
            scene.mend()
            return scene.judge(f"frozen-{step}-{whole}")

    return tell


def finished(scene):
    return len(list((scene.workspace / "runs/r/state").glob("*.failed")))


def between_guard_and_worker():
    """The guard is killed while its worker stands still; the worker wakes without it."""
    with Scene(("keyed", "idonly", "blind", "free")) as scene:
        scene.hold("said")
        guard = scene.start("--max-parallel", "4")
        scene.wait_told()
        worker = children(guard.pid)
        for pid in worker:
            send(pid, signal.SIGSTOP)
        os.kill(guard.pid, signal.SIGKILL)
        for pid in worker:
            send(pid, signal.SIGCONT)
        ran = bench.finish(guard)
        scene.release()
        bench.wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in worker))
        scene.mend(ran=ran)
        return scene.judge("guard-of-a-frozen-worker", doubts=False)


def stories():
    found = []
    for step in STEPS:
        for who in WHO:
            short = who == ("worker",) or step in ("bought", "said")
            found.append(Story(f"{' and '.join(who)} killed at {step}", killed_at(step, who), short))
    for who in WHO:
        for told in (True, False):
            short = told or who == ("worker",)
            name = f"{' and '.join(who)} killed {'while tidying' if told else 'at the word'}"
            found.append(Story(name, lingering(who, told), short))
    found.append(Story("worker killed before it hears the word", unheard))
    for moment in (0.0, 0.02, 0.1, 0.3):
        short = moment in (0.02, 0.1)
        found.append(Story(f"killed while hashing, {moment} s", while_hashing(24, moment), short))
    for step in ("bought", "making", "said"):
        for whole in (False, True):
            short = (step, whole) in (("said", False), ("making", True))
            name = f"frozen at {step}{' with its programs' if whole else ''}"
            found.append(Story(name, frozen(step, whole), short))
    found.append(Story("guard killed beside a frozen worker", between_guard_and_worker))
    return found
