"""Asks for bytes and bills: every model that a program finished is there, byte for byte, at a place that
is named; every charge of the provider has its model or a doubt that is named; nothing was bought
more often than a person said; the books agree with the bill. No message excuses anything."""

import hashlib
import json
import os
import shutil
from collections import Counter
from pathlib import Path

from . import oracle
from .provider import PRICE

CENT = 1e-6
# Ways to shop that neither find out what came of an intent nor have a person asked.
RERUNS = ("keyonly", "rerun")


def judge(stage, allowed=None, cap=None, endings=("completed",), doubts=True):
    """Returns what is wrong once everything is at rest. `allowed` says by job how many purchases more
    than one a person asked for, `endings` what rows may say, `doubts` whether a job may also wait
    for a person because it may have been billed; `untold`: only one of which no journal says that its
    program succeeded."""
    return Judge(stage, allowed or Counter(), cap).run(endings, doubts)


class Judge:
    def __init__(self, stage, allowed, cap):
        self.stage, self.allowed, self.cap = stage, allowed, cap
        self.workspace, self.wrong = stage.workspace, []
        self.told = {}

    def run(self, endings, doubts):
        try:
            self.rows = oracle.Table.read(self.workspace).cells("r")
        except (ValueError, OSError) as error:
            return [f"registry: {error}"]
        self.judge_rows(endings, doubts)
        self.judge_bytes()
        self.judge_bills()
        self.judge_books()
        return self.wrong

    # --- what the program says ----------------------------------------------------------------

    def explain(self, job):
        """Returns what the program says about a job, as data and as text."""
        if job not in self.told:
            ran, told = self.stage.json("run", "explain", "--run-id", "r", job)
            self.told[job] = (told or {}, ran.out + ran.err)
        return self.told[job]

    def doctor(self):
        if "doctor" not in self.told:
            ran, _ = self.stage.json("doctor")
            self.told["doctor"] = ran.out + ran.err
        return self.told["doctor"]

    def judge_rows(self, endings, doubts):
        made = self.stage.told_made()
        for job in self.stage.ids:
            status = self.rows.get(job, {}).get("status")
            if status in endings:
                continue
            told = self.explain(job)[0]
            in_doubt = doubts if doubts != "untold" else job not in made
            if in_doubt and status == "failed" and told.get("code") == "possibly_billed":
                continue
            self.wrong.append(f"{job}: the row says {status}, explain {told.get('code')}: {told.get('why')}")

    # --- bytes --------------------------------------------------------------------------------

    def judge_bytes(self):
        said = self.said = self.stage.noted("said")
        made = self.stage.noted("made")
        self.places = places(self.workspace, {note["size"] for note in [*said.values(), *made.values()]})
        # Of what a program was killed over before it could note its word, the bytes tell.
        self.there = {
            note["id"] for sha, note in made.items()
            if any(self.is_named(note["job"], path) for path in self.places.get(sha, []))
        }
        for sha, note in said.items():
            job, found = note["job"], self.places.get(sha, [])
            if not found:
                self.wrong.append(f"{job}: LOST: attempt {note['attempt']} made {note['id']}, which is gone")
            elif not any(self.is_named(job, path) for path in found):
                self.wrong.append(f"{job}: a finished model lies in {found[0]}, which nothing names")

    def is_named(self, job, path):
        """Tells whether a person who asks is led to the file."""
        folder = str(Path(path).parent)
        if folder == f"runs/r/outputs/{job}" and self.rows.get(job, {}).get("status") == "completed":
            return True
        if "/outputs/.previous/" in path:
            return True
        if job not in self.rows:
            # The row was harmed: where the job's results are is known once it is named.
            return folder in self.doctor() or (folder == f"runs/r/outputs/{job}" and job in self.doctor())
        return folder in self.explain(job)[1] and folder in self.doctor()

    # --- bills --------------------------------------------------------------------------------

    def judge_bills(self):
        charges = self.stage.provider.charges()
        bought = Counter(charge["job"] for charge in charges)
        for job, times in bought.items():
            if times > 1 + self.allowed[job]:
                self.wrong.append(f"{job}: BOUGHT {times} times, {1 + self.allowed[job]} were asked for")
        # Whether the bytes of what was delivered are still there is asked elsewhere.
        delivered = {note["id"] for note in self.said.values()} | self.there
        for charge in charges:
            job, identity = charge["job"], charge["id"]
            # Who lets a job be bought again has settled what became of the purchase before.
            if identity in delivered or self.allowed[job]:
                continue
            told, text = self.explain(job)
            doubt = told.get("code") == "possibly_billed" or identity in text
            if not (doubt or self.is_open(job)):
                self.wrong.append(f"{job}: paid for {identity}, which has no result and no doubt is named")

    def report(self):
        if "report" not in self.told:
            self.told["report"] = self.stage.json("cost", "report", "--run-id", "r")[1] or {}
        return self.told["report"]

    def is_open(self, job):
        ledger = self.report().get("ledger") or {}
        return any(entry["job_id"] == job for entry in ledger.get("open") or ())

    def claims(self):
        """Counts by job how often a worker took one that runs again unasked."""
        unasked = {job for job, algo in zip(self.stage.ids, self.stage.algos) if algo in RERUNS}
        lines = oracle.journal_lines(self.workspace)[0]
        claimed = [line["job_id"] for line in lines if line.get("event") == "claimed"]
        return Counter(job for job in claimed if job in unasked)

    def judge_books(self):
        """Where a ledger is kept, what it says is spent or reserved covers the bill, and is no more than
        was ever bought or may have been."""
        charged = PRICE * len(self.stage.provider.charges())
        if self.cap is None:
            return
        ledger = self.report().get("ledger") or {}
        spent, reserved = ledger.get("spent_usd") or 0, ledger.get("reserved_usd") or 0
        if charged > self.cap + CENT:
            self.wrong.append(f"OVER THE CAP: {charged:.2f} of {self.cap:.2f} were charged")
        # What runs again unasked may have been billed before, and is booked as if it was.
        again = sum(times - 1 for times in self.claims().values())
        if spent > charged + PRICE * again + CENT:
            self.wrong.append(f"{spent:.2f} are booked as spent, {charged:.2f} were charged")
        if spent + reserved < charged - CENT:
            self.wrong.append(f"{spent:.2f} spent and {reserved:.2f} reserved do not cover {charged:.2f}")


def places(workspace, sizes):
    """Returns by hash the files of the workspace that could be a model, however deep."""
    found = {}
    for folder, _, files in os.walk(os.fsencode(workspace)):
        for name in files:
            path = os.path.join(folder, name)
            try:
                if os.path.islink(path) or os.stat(path).st_size not in sizes:
                    continue
                with open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                continue
            found.setdefault(digest, []).append(os.path.relpath(os.fsdecode(path), workspace))
    return found


def keep(stage, wrong, name):
    """Keeps a workspace in which something is wrong, with the provider's ledger and the notes."""
    kept = Path(f"/tmp/archi3d-torture-{os.getpid()}-{name}")
    shutil.copytree(stage.workspace, kept / "ws", dirs_exist_ok=True, symlinks=True)
    shutil.copytree(stage.outside, kept / "outside", dirs_exist_ok=True)
    (kept / "wrong.json").write_text(json.dumps(wrong, indent=1))
    return kept
