"""Large runs, with the binary that people get: how long they take and how much memory at most."""

import os
import shutil
import subprocess
import time

from . import bench, oracle
from .bench import worker

ADAPTERS = """  mock: {kind: mock, sleep_ms: 0, unit_price_usd: 0.4}
  few: {kind: mock, sleep_ms: 5, count_file: count.txt, unit_price_usd: 0.4}
  bad: {kind: mock, fail: "it is broken"}
"""


def parts(no_build):
    """Yields the name of every part and the function that runs it."""
    if not no_build:
        bench.build(release=True)
    for name, part in (
        ("100,000 jobs in one run", many_jobs),
        ("64 workers on one run", many_workers),
        ("10,000 failing jobs", many_failures),
        ("1,000,000 rows of other runs", many_rows),
    ):
        yield name, lambda part=part: in_scratch(part)


def in_scratch(part):
    root = bench.scratch("load", on_disk=True)
    try:
        return part(root / "ws")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def timed(arguments):
    """Runs the program; returns its exit code, errors, seconds and peak memory in MB."""
    began = time.monotonic()
    errors = os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
    process = subprocess.Popen(
        [bench.binary("release"), *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=bench.environment(),
    )
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    size = os.fstat(errors).st_size
    text = os.pread(errors, 4000, max(0, size - 4000)).decode(errors="replace")
    os.close(errors)
    return code, text, time.monotonic() - began, usage.ru_maxrss / 1024


def judged(workspace, ran, code, status, jobs):
    """Returns the figures of one run and what is wrong with it."""
    ended, text, seconds, memory = ran
    wrong = [] if ended == code else [f"ended with {ended}: {text[-300:]}"]
    if "lock" in text.lower():
        wrong.append(f"a lock was in the way: {text[-300:]}")
    rows = oracle.Table.read(workspace).cells("r")
    done = sum(cells["status"] == status for cells in rows.values())
    if done != jobs:
        wrong.append(f"{done} of {jobs} jobs are {status}")
    wrong += oracle.leftovers(workspace)
    return {"seconds": round(seconds, 1), status: done, "peak MB": round(memory)}, wrong


def many_jobs(workspace, jobs=100_000):
    bench.make(workspace, ["mock"] * jobs, 0, ADAPTERS)
    return judged(workspace, timed(worker(workspace, "--max-parallel", "2")), 0, "completed", jobs)


def many_failures(workspace, jobs=10_000):
    bench.make(workspace, ["bad"] * jobs, 0, ADAPTERS)
    return judged(workspace, timed(worker(workspace, "--max-parallel", "4")), 1, "failed", jobs)


def many_rows(workspace, rows=1_000_000, jobs=1_000):
    bench.make(workspace, ["mock"] * jobs, rows, ADAPTERS, rows_first=True)
    size = (workspace / "tables/generations.csv").stat().st_size
    ran = timed(worker(workspace, "--max-parallel", "2"))
    figures, wrong = judged(workspace, ran, 0, "completed", jobs)
    return {"table MB": size >> 20, **figures}, wrong


def many_workers(workspace, workers=64, jobs=2_000):
    ids = bench.make(workspace, ["few"] * jobs, 1000, ADAPTERS)
    before = oracle.Table.read(workspace)
    began = time.monotonic()
    release = bench.binary("release")
    crowd = [bench.start(worker(workspace), program=release) for _ in range(workers)]
    ended = [bench.finish(process, timeout=600) for process in crowd]
    wrong = [f"a worker ended with {e.code}: {e.err[-200:]}" for e in ended if e.code != 0]
    wrong += oracle.check(workspace, before, ids, {})
    executions = len((workspace / "count.txt").read_text().splitlines())
    if executions != jobs:
        wrong.append(f"{jobs} jobs were executed {executions} times")
    seconds = time.monotonic() - began
    return {"workers": workers, "jobs": jobs, "executed": executions, "seconds": round(seconds, 1)}, wrong
