"""What must hold after a round of random torture: first without anybody's consent to buy again, then, when
a person has said so for what was in doubt, with every job completed."""

import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

from . import bench, bills, oracle
from .bench import worker

OPTIONS = ("--max-parallel", "3", "--heartbeat-secs", "0.2", "--stale-secs", "1.5")
# The smallest piece in which a file system takes or refuses what is written.
BLOCK = 1024


def judge(round_):
    """Lets everything come to its end; returns what is wrong."""
    wait_for_workers(round_)
    wrong = round_.wrong
    for _ in range(2):
        ran = bench.run(worker(round_.workspace, "--only-status", "enqueued,running", *OPTIONS))
    if ran.code not in (0, 1):
        wrong.append(f"a clean start ended with {ran.code}: {ran.err[-300:]}")
    # Programs that were killed or found no room have failed, which is no loss: bytes and bills are asked for.
    wrong += bills.judge(round_, endings=("completed", "failed"))
    consent = ask_a_person(round_, wrong)
    end_upserter(round_, wrong)
    if round_.was_cut:
        # A marker that was never synced may be damaged although its row is whole: no worker looks at it, the doctor does.
        bench.run(["doctor", "--fix", "--yes", "--workspace", str(round_.workspace)])
    how = {"most": len(round_.ids), "changed": ("notes",), "after_cut": round_.was_cut}
    found = oracle.check(round_.workspace, round_.before, round_.ids, {}, **how)
    wrong += [line for line in found if not line.startswith("worker.log")]
    wrong += bills.judge(round_, allowed=consent, doubts=False)
    judge_log(round_, wrong)
    judge_journals(round_, wrong)
    round_.counts["jobs"] += len(round_.ids)
    round_.counts["models by programs"] += len(round_.noted("said"))
    round_.counts["charges"] += len(round_.provider.charges())
    round_.counts["lost"] += sum("LOST" in line or "missing" in line for line in wrong)
    round_.counts["doubled"] += sum("BOUGHT" in line or "carried out" in line for line in wrong)
    if wrong:
        wrong[0] += f" (kept in {bills.keep(round_, wrong, round_.workspace.name)})"
    return wrong


def wait_for_workers(round_):
    for process in list(round_.started):
        try:
            process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            round_.wrong.append("a worker does not come to an end")
    round_.end_all()


def ask_a_person(round_, wrong):
    """A person lets everything that failed run again; returns by job what may be bought again."""
    rows = oracle.Table.read(round_.workspace).cells("r")
    failed = [job for job, cells in rows.items() if cells["status"] == "failed"]
    round_.counts["for a person"] += len(failed)
    options = ("--only-status", "enqueued,running,failed", "--resubmit-unknown")
    ran = bench.run(worker(round_.workspace, *options, *OPTIONS))
    if ran.code != 0:
        wrong.append(f"the last worker ended with {ran.code}: {ran.err[-300:]}")
    return Counter(failed)


def end_upserter(round_, wrong):
    if round_.was_cut:
        return  # What it wrote last went with the disk.
    round_.upserter.send_signal(signal.SIGTERM)
    upserts = int(round_.upserter.communicate(timeout=90)[0] or -1)
    round_.counts["python upserts"] += upserts
    raw = (round_.workspace / "tables/generations.csv").read_bytes()
    counted = re.findall(rb"COUNTED:(\d+)", raw)
    if counted != [str(upserts).encode()]:
        wrong.append(f"python changed the table {upserts} times, {counted} are in it")


def judge_log(round_, wrong):
    """A kill or a full disk cuts a line where a page of the file ends, and nowhere else. Such a line stands
    alone."""
    at = 0
    for line in (round_.workspace / "logs/worker.log").read_bytes().split(b"\n"):
        at += len(line) + 1
        if not line or oracle.parse(line) is not None:
            continue
        round_.counts["cut log lines"] += 1
        if not round_.was_cut and ((at - 1) % BLOCK or line.count(b'"event":"') > 1):
            wrong.append(f"worker.log: a line cannot be read, at {at}: {line[:200]!r}")


def judge_journals(round_, wrong):
    lines, _ = oracle.journal_lines(round_.workspace)
    claims = [line for line in lines if line.get("event") == "claimed"]
    round_.counts["takeovers"] += sum(line["entry"] == "takeover" for line in claims)
    round_.counts["fenced"] += sum(line.get("event") == "fenced" for line in lines)
    log = (round_.workspace / "logs/worker.log").read_bytes()
    round_.counts["rolled forward"] += log.count(b'"rolled_forward"')
    if round_.was_cut:
        return
    for job, attempts in finished_by_the_unstopped(round_.workspace, round_.stopped_ids).items():
        if attempts > 1:
            wrong.append(f"{job}: carried out {attempts} times by workers never stopped")


def finished_by_the_unstopped(workspace, stopped):
    """Counts by job the results of workers that were never stopped: a worker that was stopped for longer
    than silence is borne may come too late, and is fenced."""
    done = Counter()
    for path in (Path(workspace) / "runs/r/state/journal").glob("*.jsonl"):
        pid = int(path.stem.split("-")[-2])
        if pid in stopped:
            continue
        lines = [oracle.parse(line) for line in path.read_bytes().split(b"\n")]
        done.update(job for job, n in oracle.completions([x for x in lines if x]).items() for _ in n)
    return done
