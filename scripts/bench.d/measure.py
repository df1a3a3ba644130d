"""Runs a program and tells how long it took and how much memory it had."""

import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

# How often the memory of a running program is looked at.
LOOK_EVERY_S = 0.02


class Ran:
    """What one run of a program cost: seconds, megabytes of its largest process, its stdout."""

    def __init__(self, seconds, rss_mb, out):
        self.seconds, self.rss_mb, self.out = seconds, rss_mb, out


class Memory(threading.Thread):
    """Watches how much memory a program has had, with the programs it started. What the system
    tells at the end (`ru_maxrss`) is never less than the memory of whoever started the program."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak_mb, self.ended = pid, 0.0, threading.Event()

    def run(self):
        while True:
            self.look()
            if self.ended.wait(LOOK_EVERY_S):
                return

    def look(self):
        pids = [self.pid]
        try:
            pids += Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        except OSError:
            pass
        for pid in pids:
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            for line in status.splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_mb = max(self.peak_mb, int(line.split()[1]) / 1024)


def run(command, check=True, **options):
    """Runs `command` to its end."""
    options.setdefault("stdin", subprocess.DEVNULL)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=err, **options)
        memory = Memory(child.pid)
        memory.start()
        _, status = os.waitpid(child.pid, 0)
        seconds = time.monotonic() - start
        memory.ended.set()
        memory.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text = out.read().decode("utf-8", "replace")
        if check and child.returncode != 0:
            raise SystemExit(f"{command} ended with {child.returncode}: {err.read()[-2000:]!r}")
    return Ran(seconds, memory.peak_mb, text)


class Series:
    """The repetitions of one measurement."""

    def __init__(self, jobs=None):
        self.jobs, self.seconds, self.rss_mb = jobs, [], []

    def add(self, ran):
        self.seconds.append(ran.seconds)
        self.rss_mb.append(ran.rss_mb)

    def summary(self):
        """Returns the medians."""
        seconds = statistics.median(self.seconds)
        summary = {
            "seconds": seconds,
            "all_seconds": self.seconds,
            "rss_mb": statistics.median(self.rss_mb),
        }
        if self.jobs:
            summary.update(
                jobs=self.jobs, ms_per_job=1000 * seconds / self.jobs, jobs_per_s=self.jobs / seconds
            )
        return summary
