"""Power cuts of a real file system: ext4 on a loop device is shut down without flushing its log, as
if the power went, and mounted again. Needs root and loop devices."""

import fcntl
import os
import random
import shutil
import signal
import subprocess
import time

from . import bench, disks, oracle
from .bench import start, worker

ADAPTERS = """  plain: {kind: mock, sleep_ms: 20, unit_price_usd: 0.4}
  buy: {kind: mock, sleep_ms: 10, submit: true, unit_price_usd: 0.4}
"""
OPTIONS = ("--only-status", "enqueued,running", "--max-parallel", "3")
JOBS = 60


def torture(times):
    disk = disks.small("cuts")
    if disk is None:
        return {"not tried": "no root, no mkfs.ext4 or no loop devices"}, []
    try:
        return cut_again_and_again(disk, times)
    finally:
        disk.drop()


def cut_again_and_again(disk, times):
    wrong, reported = [], 0
    for number in range(times):
        workspace = disk.path / f"cut-{number}"
        algos = [random.choice(("plain", "buy")) for _ in range(JOBS)]
        ids = bench.make(workspace, algos, foreign=40, adapters=ADAPTERS)
        before = oracle.Table.read(workspace)
        os.sync()
        workers = [start(worker(workspace, *OPTIONS), output=subprocess.DEVNULL) for _ in range(2)]
        time.sleep(random.uniform(0.1, 0.9))
        told = cut_under_lock(disk, workspace)
        for process in workers:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        disk.unmount()
        if not disk.mount():
            return {"cuts": number}, ["the disk cannot be mounted again"]
        reported += len(told)
        found = start_again(workspace, before, ids, told)
        wrong += [f"cut {number}: {line}" for line in found]
        shutil.rmtree(workspace, ignore_errors=True)
    figures = {
        "cuts": times,
        "results reported durable": reported,
        "lost": sum("lost" in line for line in wrong),
        "done twice": sum("again" in line for line in wrong),
    }
    return figures, wrong


def cut_under_lock(disk, workspace):
    """Cuts while nobody writes the table, so that what it says has been reported as durable."""
    descriptor = os.open(workspace / "tables/generations.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        rows = oracle.Table.read(workspace).cells("r")
        told = {job: cells for job, cells in rows.items() if cells["status"] == "completed"}
        disk.cut()
    finally:
        os.close(descriptor)
    return told


def start_again(workspace, before, ids, told):
    try:
        rows = oracle.Table.read(workspace).cells("r")
    except (ValueError, OSError) as error:
        return [f"registry: {error}"]
    wrong = [
        f"{job}: lost what was reported" for job, cells in told.items() if rows.get(job) != cells
    ]
    old = oracle.journal_lines(workspace)[0]
    for _ in range(2):
        ran = bench.run(worker(workspace, *OPTIONS))
        if ran.code != 0:
            return [*wrong, f"the next start ended with {ran.code}: {ran.err[-300:]}"]
    wrong += oracle.check(workspace, before, ids, {}, most=len(ids), after_cut=True)
    claims = {line["nonce"] for line in old if line.get("event") == "claimed"}
    for line in oracle.journal_lines(workspace)[0]:
        if line.get("event") != "claimed" or line["nonce"] in claims:
            continue
        if line["job_id"] in told:
            wrong.append(f"{line['job_id']}: done again")
    bought = {line["job_id"] for line in old if line.get("event") == "submitted"}
    known = {line.get("nonce") for line in old}
    for line in oracle.journal_lines(workspace)[0]:
        new = line.get("event") == "submitted" and line["nonce"] not in known
        if new and line["job_id"] in bought:
            wrong.append(f"{line['job_id']}: bought again")
    return wrong
