"""A workspace with real programs as adapters, the provider they buy from, and the hands of somebody who
finds the guard, the worker and its programs and ends or stops each of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import bench, oracle
from .provider import PRICE, Provider

RESUME = ("--only-status", "enqueued,running", "--max-parallel", "2")
# How one can shop, as settings and as habits of the program. Who has keys, or can look a purchase up, finds
# out what came of an intent; who has neither and does not want to pay twice has a person asked.
FINDS_OUT = {"protocol": 2, "reconciles": True}
KINDS = {
    "keyed": (FINDS_OUT, {"keys": True, "ids": True}),
    "looked": (FINDS_OUT, {"keys": True, "ids": True, "lookup": True}),
    "keyonly": ({}, {"keys": True}),
    "idonly": ({"on_interrupt": "ask", "protocol": 2}, {"ids": True}),
    "blind": ({"on_interrupt": "ask"}, {}),
    "warned": ({"on_interrupt": "ask"}, {"warns": True}),
    "free": ({}, None),
    # Who has a job run again after a crash although it may have been billed pays twice, but under the cap.
    "rerun": ({"on_interrupt": "rerun"}, {"silent": True}),
}

# One that everybody may start, if there is one.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


class Stage:
    """Everything but the workspace lies elsewhere, so no harm to the workspace reaches it."""

    def __init__(self, workspace, algos, foreign=3, numbers=None, more="", **does):
        self.workspace = Path(workspace)
        self.outside = bench.scratch("outside")
        os.chmod(self.outside, 0o777)
        self.holds = self.outside / "hold"
        self.holds.mkdir(mode=0o777)
        os.chmod(self.holds, 0o777)
        self.notes = self.outside / "notes.jsonl"
        self.notes.touch(mode=0o666)
        os.chmod(self.notes, 0o666)
        self.program = self.outside / "program.py"
        shutil.copy(Path(__file__).with_name("program.py"), self.program)
        self.provider = Provider(self.outside)
        self.algos, self.started = list(algos), []
        entries = self.entries(does) + more
        self.ids = bench.make(self.workspace, algos, foreign, entries, numbers=numbers)
        self.before = oracle.Table.read(self.workspace)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_all()
        self.provider.close()
        shutil.rmtree(self.outside, ignore_errors=True)

    def tell_programs(self, **does):
        """Changes what the programs do from now on."""
        path = self.workspace / "config/adapters.yaml"
        path.write_text("adapters:\n" + self.entries(does))

    def entries(self, does):
        """Returns the adapters, one for each way to shop; `does` is what all of their programs do."""
        lines = []
        for name, (options, ways) in KINDS.items():
            defaults = {"notes": str(self.notes), "hold": str(self.holds), **does}
            if ways is not None:
                defaults.update(ways, shop=list(self.provider.address))
            entry = {"kind": "process", "command": [PYTHON, "-I", "-S", str(self.program)]}
            entry |= {"unit_price_usd": PRICE if ways is not None else 0, "defaults": defaults}
            lines.append(f"  {name}: {json.dumps(entry | options)}\n")
        return "".join(lines)

    # --- its processes ------------------------------------------------------------------------

    def start(self, *options, **how):
        """Starts a worker; what is returned is its guard."""
        guard = bench.start(bench.worker(self.workspace, *(options or RESUME)), **how)
        self.started.append(guard)
        return guard

    def run(self, *options, **how):
        return bench.finish(self.start(*options, **how))

    def hold(self, step):
        (self.holds / step).touch()

    def release(self, *steps):
        for step in steps or [path.name for path in self.holds.iterdir() if "." not in path.name]:
            (self.holds / step).unlink(missing_ok=True)

    def held(self, step):
        """Returns the jobs whose programs wait at a step."""
        return {path.name.split(".")[1] for path in self.holds.glob(f"{step}.*")}

    def wait_held(self, step, jobs=1):
        self.wait_until(lambda: len(self.held(step)) >= jobs, f"{jobs} programs at {step!r}")

    def wait_said(self):
        """Waits until every program has said that it succeeded; the worker need not have heard all of them."""
        self.wait_until(lambda: len(self.noted("said")) == len(self.ids), "every program's word")

    def wait_told(self):
        """Waits until the journals say of every job that its program succeeded: from here on nobody can be in
        doubt about one. Each program has noted that it said so by then."""
        self.wait_said()
        self.wait_until(lambda: len(self.told_made()) == len(self.ids), "every program's word in a journal")

    def told_made(self):
        """Returns the jobs of which a journal says that their program succeeded."""
        lines, _ = oracle.journal_lines(self.workspace)
        return {line["job_id"] for line in lines if line.get("event") == "made"}

    def wait_until(self, condition, what):
        """Waits for the moment of a story, however busy the machine is; one that does not come proves nothing."""
        over = lambda: all(guard.poll() is not None for guard in self.started)
        bench.wait_for(lambda: condition() or over(), 90)
        if not condition():
            raise RuntimeError(f"did not come to pass: {what}")

    def kill(self, guard, *who):
        """Ends some of `guard`, `worker` and `adapter` at once; the others see to themselves."""
        # Where no programs are started there is no guard either.
        worker = children(guard.pid) or [guard.pid]
        programs = [pid for parent in worker for pid in children(parent)]
        pids = {"guard": [guard.pid], "worker": worker, "adapter": programs}
        for pid in [pid for name in who for pid in pids[name]]:
            send(pid, signal.SIGKILL)

    def end_all(self):
        for guard in self.started:
            if guard.poll() is None:
                self.kill(guard, "guard", "worker", "adapter")
            try:
                guard.communicate(timeout=10)
            except (subprocess.TimeoutExpired, ValueError):
                pass
        bench.wait_for(lambda: not oracle.processes(self.workspace))
        self.started.clear()

    # --- what it noted ------------------------------------------------------------------------

    def noted(self, note="said"):
        """Returns the models that programs said they finished, each once."""
        lines = [json.loads(line) for line in self.notes.read_text().splitlines()]
        return {line["sha"]: line for line in lines if line["note"] == note}

    def json(self, *words):
        ran = bench.run([*words, "--workspace", str(self.workspace), "--json"])
        try:
            return ran, json.loads(ran.out)
        except ValueError:
            return ran, None


def children(pid):
    try:
        threads = Path(f"/proc/{pid}/task").iterdir()
        text = " ".join((path / "children").read_text(encoding="ascii") for path in threads)
    except OSError:
        return []
    return [int(word) for word in text.split()]


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


