"""Programs with odd habits, ordinary users, workers of other machines with other rhythms and clocks."""

import os
import shutil
import subprocess
import time

from . import bench, bills
from .stories import Scene, Skipped, Story

ALGOS = ("idonly", "blind", "keyed", "free")
# Somebody who is in no list of users.
USER = "54321"
ODD = {
    "many previews": {"previews": 6},
    "one preview named twice": {"previews": 2, "odd": True},
    "names that are no text": {"odd": True, "folder": True},
    "links beside the model": {"links": True},
    "folders that forbid writing": {"readonly": True, "folder": True},
}
LATE_POINTS = ("finish.journalled", "publish_result.placed", "finish.unlocked", "fold.before")


def odd(habits, point=None, user=False):
    """Programs leave what they like beside their models; the worker may die when one is finished."""

    def tell():
        with Scene(ALGOS, **habits) as scene:
            how = as_user(scene, scene.outside) if user else {}
            faults = f"{point}=1*return(kill)" if point else None
            ran = scene.run("--max-parallel", "2", faults=faults, **how)
            for _ in range(3):
                ran = scene.run("--only-status", "enqueued,running", **how)
            # One job's files concern no other job.
            wrong = later_start(ran)
            # Links are refused, and the model is kept all the same.
            endings = ("completed", "failed") if habits.get("links") else ("completed",)
            name = f"odd-{'-'.join(habits)}-{point}-{user}"
            # A job that was just buying when the worker died is for a person to say.
            doubts = bool(point) or bool(habits.get("links"))
            return wrong + scene.judge(name, endings=endings, doubts=doubts)

    return tell


def later_start(ran):
    return [] if ran.code in (0, 1) else [f"a later start ended with {ran.code}: {ran.err[-300:]}"]


def as_user(scene, home=None):
    """Gives the workspace to somebody else; returns how to start the program as that person, with
    root's `HOME`, which is closed, or one of their own."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("needs root and setpriv")
    for folder, names, files in os.walk(scene.workspace):
        for name in (".", *names, *files):
            os.chown(os.path.join(folder, name), int(USER), int(USER), follow_symlinks=False)
    program = scene.outside / "archi3d"
    shutil.copy2(bench.binary("faulty"), program)
    user = ("env", f"HOME={home or '/root'}", "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all")
    return {"before": user, "program": str(program)}


def killed_user(who):
    """What root's worker survives, an ordinary user's does too."""

    def tell():
        with Scene(ALGOS, readonly=True, folder=True) as scene:
            how = as_user(scene)
            scene.hold("said")
            guard = scene.start("--max-parallel", "4", **how)
            scene.wait_told()
            scene.kill(guard, *who)
            bench.finish(guard)
            scene.release()
            for _ in range(2):
                ran = scene.run("--only-status", "enqueued,running", **how)
            wrong = later_start(ran)
            return wrong + scene.judge(f"user-killed-{'-'.join(who)}", doubts=False)

    return tell


def other_machine(scene):
    """Returns how to start a worker as if it ran on another machine."""
    boot = scene.outside / "boot_id"
    boot.write_text("11111111-2222-4333-8444-555555555555\n")
    script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
    before = ("unshare", "-m", "sh", "-c", script, str(boot))
    if subprocess.run((*before, "true"), capture_output=True, check=False).returncode != 0:
        raise Skipped("needs root and unshare")
    return {"before": before}


def mixed_rhythms(elsewhere):
    """One worker beats every ten seconds; another, which beats often and bears little silence, starts
    beside it."""

    def tell():
        with Scene(("rerun", "idonly", "keyed", "free"), sleep_s=0.1) as scene:
            how = other_machine(scene) if elsewhere else {}
            scene.hold("making")
            guard = scene.start("--max-parallel", "3", "--heartbeat-secs", "10", "--stale-secs", "600")
            scene.wait_held("making", 3)
            hasty = ("--heartbeat-secs", "0.2", "--stale-secs", "0.6")
            options = ("--only-status", "enqueued,running", "--max-parallel", "4", *hasty)
            for _ in range(2):
                time.sleep(0.8)
                beside = scene.start(*options, **how)
                bench.wait_for(lambda: beside.poll() is not None, 2)
            scene.release()
            for process in (beside, guard):
                bench.finish(process)
            scene.mend()
            return scene.judge(f"rhythms-{elsewhere}", doubts=False)

    return tell


def wrong_clock(offset_ms):
    """A worker with a wrong clock holds jobs; another starts beside it, then the first one dies."""

    def tell():
        with Scene(("rerun", "idonly", "keyed", "free")) as scene:
            clock = scene.outside / "clock"
            clock.write_text(str(offset_ms))
            scene.hold("making")
            # Less than the clock is wrong by, and more than a busy machine keeps a worker from beating.
            rhythm = ("--heartbeat-secs", "0.2", "--stale-secs", "60")
            guard = scene.start("--max-parallel", "3", *rhythm, clock=clock)
            scene.wait_held("making", 3)
            time.sleep(0.3)
            beside = scene.start("--only-status", "enqueued,running", "--max-parallel", "4", *rhythm)
            bench.wait_for(lambda: beside.poll() is not None, 1.5)
            clock.write_text("0")
            time.sleep(0.3)
            scene.release()
            for process in (beside, guard):
                bench.finish(process)
            scene.mend()
            return scene.judge(f"clock-{offset_ms}", doubts=False)

    return tell


def given_up():
    """What was about to be bought under a clock that was ahead is given up when a person says so."""
    with Scene(("blind", "keyonly", "idonly")) as scene:
        clock = scene.outside / "clock"
        clock.write_text(str(86_400_000))
        scene.hold("bought")
        guard = scene.start("--max-parallel", "3", clock=clock)
        scene.wait_held("bought", 3)
        scene.kill(guard, "worker")
        bench.finish(guard)
        scene.release()
        scene.mend()
        ran = scene.run("--only-status", "failed,running", "--resubmit-unknown")
        wrong = [] if ran.code == 0 else [f"with a person's word it ended with {ran.code}: {ran.err[-300:]}"]
        allowed = dict.fromkeys(scene.ids, 1)
        return wrong + scene.judge("given-up", allowed=bills.Counter(allowed), doubts=False)


def stories():
    found = []
    for name, habits in ODD.items():
        found.append(Story(name, odd(habits)))
        found.append(Story(f"{name}, as an ordinary user", odd(habits, user=True), "forbid" in name))
        for point in LATE_POINTS:
            short = point == "finish.unlocked" and "names" in name
            found.append(Story(f"{name}, killed at {point}", odd(habits, point), short))
    for who in (("worker",), ("guard", "worker", "adapter")):
        name = f"an ordinary user's {' and '.join(who)} killed"
        found.append(Story(name, killed_user(who), len(who) == 1))
    for elsewhere in (False, True):
        name = f"several rhythms{' on two machines' if elsewhere else ''}"
        found.append(Story(name, mixed_rhythms(elsewhere), elsewhere))
    for offset in (366 * 86_400_000, -366 * 86_400_000, 3_600_000):
        name = f"a clock that is {offset // 1000} s ahead"
        found.append(Story(name, wrong_clock(offset), offset > 1e10))
    found.append(Story("a purchase is given up after the clock was ahead", given_up))
    return found
