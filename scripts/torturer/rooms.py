"""Disks that let a run down: no room and no inodes when a paid model is finished, read-only before and
after, an error of the file system, a power cut; folders that are moved away and back."""

import os
import shutil
import time

from . import bench, disks
from .stories import Scene, Skipped, Story

ALGOS = ("blind", "free", "keyed", "idonly")


class OnDisk:
    """A scene on a disk of its own."""

    def __init__(self, algos=ALGOS, megabytes=16, inodes=None, options="errors=remount-ro", **does):
        self.disk = disks.small("room", megabytes=megabytes, inodes=inodes, options=options)
        if self.disk is None:
            raise Skipped("needs root and loop devices")
        self.scene = Scene(algos, on=self.disk.path, **does)
        os.sync()

    def __enter__(self):
        return self.scene, self.disk

    def __exit__(self, *how):
        self.scene.__exit__(*how)
        self.disk.drop()


def no_room(inodes, parallel):
    """The last room goes between the model and the word that it is there."""

    def tell():
        with OnDisk(inodes=192 if inodes else None) as (scene, disk):
            hog = disk.path / "hog"
            scene.tell_programs(hog=str(hog), inodes=inodes, previews=1)
            scene.hold("hog")
            ran = scene.run("--max-parallel", parallel)
            scene.release()
            shutil.rmtree(hog) if inodes else hog.unlink(missing_ok=True)
            scene.mend(ran=ran)
            # Programs that found no room for their model have failed; what they bought is doubt.
            endings = ("completed", "failed")
            return scene.judge(f"no-{'inodes' if inodes else 'room'}-{parallel}", endings=endings)

    return tell


def no_room_while_tidying():
    """The disk fills up while programs tidy up, and has room again while the worker still lives."""
    with OnDisk() as (scene, disk):
        scene.hold("said")
        guard = scene.start("--max-parallel", "4")
        scene.wait_told()
        hog = disk.fill()
        scene.release()
        ran = bench.finish(guard)
        hog.unlink()
        scene.mend(ran=ran)
        return scene.judge("no-room-while-tidying", doubts=False)


def read_only_between():
    """The worker is killed, the disk is read-only when the next one starts, and writable again."""
    with OnDisk() as (scene, disk):
        scene.hold("said")
        guard = scene.start("--max-parallel", "4")
        scene.wait_told()
        scene.kill(guard, "worker")
        ran = bench.finish(guard)
        scene.release()
        scene.end_all()
        bench.wait_for(lambda: disk.remount("ro"))
        for words in (["--max-parallel", "2"], ["--only-status", "enqueued,running"]):
            ended = scene.run(*words)
            if ended.code not in (2, 3):
                return [f"on a read-only disk it ended with {ended.code}: {ended.err[-300:]}"]
        disk.remount("rw")
        scene.mend(ran=ran)
        return scene.judge("read-only-between", doubts=False)


def failing(step, how):
    """The file system finds an error and turns read-only, or the power goes, at a step."""

    def tell():
        with OnDisk() as (scene, disk):
            scene.hold(step)
            guard = scene.start("--max-parallel", "4")
            scene.wait_held(step, 4)
            time.sleep(0.1)
            if how == "cut":
                disk.cut()
            elif not disk.fail():
                raise Skipped("the kernel cannot be asked for an error of ext4")
            scene.release()
            ran = bench.finish(guard)
            scene.end_all()
            if not disk.repair():
                return ["the disk cannot be mounted again"]
            scene.mend(ran=ran)
            return scene.judge(f"disk-{how}-{step}", endings=("completed", "failed"))

    return tell


def moved(what, step, seconds):
    """A person moves the run's folder or the workspace away and, after a while, back."""

    def tell():
        with Scene(("blind", "free", "keyed", "idonly")) as scene:
            place = scene.workspace / "runs/r" if what == "run" else scene.workspace
            away = place.with_name("moved-away")
            scene.hold(step)
            guard = scene.start("--max-parallel", "4", "--heartbeat-secs", "0.1")
            scene.wait_held(step, 4)
            time.sleep(0.1)
            os.rename(place, away)
            scene.release()
            if seconds is None:
                ran = bench.finish(guard)
            else:
                time.sleep(seconds)
            if place.exists():
                # What was made in its place is kept beside it, as a person would.
                shutil.copytree(place, scene.root / f"instead-{place.name}", symlinks=True)
                shutil.rmtree(place)
            os.rename(away, place)
            ran = bench.finish(guard)
            scene.mend(ran=ran)
            return scene.judge(f"moved-{what}-{step}-{seconds}", endings=("completed", "failed"))

    return tell


def stories():
    found = []
    for inodes in (False, True):
        for parallel in ("1", "4"):
            name = f"no {'inodes' if inodes else 'room'} after the model, {parallel} at a time"
            found.append(Story(name, no_room(inodes, parallel), parallel == "4"))
    found.append(Story("no room while tidying", no_room_while_tidying))
    found.append(Story("read-only between two workers", read_only_between))
    for how in ("error", "cut"):
        for step in ("made", "said"):
            found.append(Story(f"disk {how} at {step}", failing(step, how), step == "said"))
    for what in ("run", "workspace"):
        for step in ("making", "said"):
            for seconds in (0.3, None):
                while_it = "for a moment" if seconds else "until the worker ends"
                short = step == "said" and not seconds
                found.append(Story(f"{what} moved at {step} {while_it}", moved(what, step, seconds), short))
    return found
