"""Kills the whole process group in the middle of writing the registry, again and again."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from . import bench, oracle
from .bench import start, worker

ADAPTERS = "  plain: {kind: mock, sleep_ms: 40}\n"
FOREIGN = 4000


def torture(times):
    root = bench.scratch("folds", on_disk=True)
    try:
        return kill_while_folding(root / "ws", times)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def kill_while_folding(workspace, times):
    wrong, inside, done = [], 0, 0
    ids = bench.make(workspace, ["plain"] * (12 * times + 20), FOREIGN, ADAPTERS)
    before = oracle.Table.read(workspace)
    for number in range(times):
        process = start(worker(workspace, "--only-status", "enqueued,running", "--max-parallel", "4"))
        caught = wait_for_temporary(workspace / "tables", process)
        # Anywhere between the first byte and the synced folder.
        time.sleep(random.choice((0, 0, 0.001, 0.003, 0.01)))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        inside += caught
        try:
            table = oracle.Table.read(workspace)
            if table.keys() != before.keys():
                wrong.append(f"kill {number}: rows are missing or new")
            now = sum(cells["status"] == "completed" for cells in table.cells("r").values())
            if now < done:
                wrong.append(f"kill {number}: {done} were completed, now {now}")
            done = now
        except (ValueError, OSError) as error:
            wrong.append(f"kill {number}: {error}")
    last = worker(workspace, "--only-status", "enqueued,running", "--max-parallel", "32")
    if bench.run(last).code != 0:
        wrong.append("the last worker did not end well")
    wrong += oracle.check(workspace, before, ids, {})
    figures = {"kills": times, "within a fold": inside, "registry broken": len(wrong)}
    return figures, wrong


def wait_for_temporary(folder: Path, process):
    """Waits until the table is being written; tells whether it was."""
    until = time.monotonic() + 10
    while time.monotonic() < until and process.poll() is None:
        if any(entry.name.endswith(".tmp") for entry in os.scandir(folder)):
            return True
    return False
