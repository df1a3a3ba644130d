"""Power cuts: states that a cut may leave, made from a recording, and what the program does there."""

import hashlib
import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

from . import bench, oracle
from .bench import worker
from .crashes import has_wreckage
from .recording import Recording, record

ADAPTERS = """  plain: {kind: mock, sleep_ms: 15, unit_price_usd: 0.4}
  buy: {kind: mock, sleep_ms: 10, submit: true, unit_price_usd: 0.4}
  bad: {kind: mock, fail: "it is broken"}
"""
ALGOS = ("plain", "buy", "plain", "bad", "buy", "plain") * 4
PAGE = 4096
OPTIONS = ("--only-status", "enqueued,running", "--max-parallel", "2")
# What is written again are other files, so only silence tells that their worker is dead.
SILENCE = 0.3
OPTIONS += ("--heartbeat-secs", "0.1", "--stale-secs", str(SILENCE))


def torture(cuts, seed=None):
    if not shutil.which("strace"):
        return {"not tried": "strace is not installed"}, []
    root = bench.scratch("power")
    try:
        return Cuts(root, random.randrange(1 << 30) if seed is None else seed).run(cuts)
    finally:
        shutil.rmtree(root, ignore_errors=True)


class Cuts:
    def __init__(self, root, seed):
        self.root, self.seed, self.rng = root, seed, random.Random(seed)
        self.made, self.doubted = [], []
        workspace = root / "recorded"
        self.ids = bench.make(workspace, ALGOS, foreign=30, adapters=ADAPTERS)
        self.before = oracle.Table.read(workspace)
        self.recording = Recording(workspace)
        log = root / "strace"
        command = [bench.binary("faulty"), *worker(workspace, *OPTIONS)]
        code = record(command, bench.environment(), log)
        if code != 1:
            raise RuntimeError(f"the recorded worker ended with {code}")
        self.recording.read(log)
        self.check_recording(workspace)
        outputs = {job: workspace / "runs/r/outputs" / job / "generated.glb" for job in self.ids}
        self.models = {job: path.read_bytes() for job, path in outputs.items() if path.exists()}
        if made(workspace).keys() != self.models.keys():
            raise RuntimeError("a journal does not tell which models were made")
        self.expected = {
            job: ("failed",) if algo == "bad" else ("completed",) for job, algo in zip(self.ids, ALGOS)
        }

    def check_recording(self, workspace):
        """All operations together must make the tree that the worker left, or nothing is proven."""
        replayed = self.root / "replayed"
        everything = dict.fromkeys(range(len(self.recording.ops)))
        self.recording.write(self.recording.state(everything), replayed)
        if tree(workspace) != tree(replayed):
            raise RuntimeError("the recording does not lead to what the worker left")

    def run(self, cuts):
        states = self.states(cuts)
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            results = list(pool.map(lambda job: self.judge(*job), enumerate(states.values())))
        wrong = [line for found, _ in results for line in found]
        figures = {
            "operations": len(self.recording.ops),
            "syncs": len(self.recording.syncs),
            "states": len(states),
            "results reported durable": sum(count for _, count in results),
            "made and not reported": len(self.made),
            "of these a named doubt": len(self.doubted),
            "lost": sum("lost" in line for line in wrong),
            "done twice": sum("again" in line for line in wrong),
            "seed": self.seed,
        }
        return figures, wrong

    def states(self, cuts):
        """Prefixes with nothing but what was synced, a third of what was asked for; and others, in which some of
        the rest came through, torn or in another order."""
        states = {}
        total = len(self.recording.ops)
        for until in range(0, total + 1, max(1, 3 * total // cuts)):
            synced = self.recording.durable(until)
            self.add(states, until, dict.fromkeys(synced))
        while len(states) < cuts:
            until = self.rng.randrange(total + 1)
            synced = self.recording.durable(until)
            kept = dict.fromkeys(synced)
            choose = self.rng.choice((self.in_order, self.scattered, self.scattered))
            choose(kept, [n for n in range(until) if n not in synced])
            self.add(states, until, kept)
        return states

    def add(self, states, until, kept):
        key = hashlib.sha1(repr(sorted(kept.items())).encode()).hexdigest()
        states.setdefault(key, (until, kept))

    def in_order(self, kept, loose):
        """Names change in the order of one journal; contents come late, or torn."""
        cut = self.rng.randrange(len(loose) + 1)
        self.keep_names(kept, loose[:cut], lambda folder, number: True)
        self.keep_contents(kept, loose[:cut], self.rng.choice((0.3, 0.7, 0.95)))

    def scattered(self, kept, loose):
        """Every folder and every file has its own moment up to which it was written."""
        cuts = {}

        def early(folder, number):
            if folder not in cuts:
                cuts[folder] = self.rng.choice((-1, number, self.rng.choice(loose), loose[-1]))
            return number <= cuts[folder]

        self.keep_names(kept, loose, early)
        self.keep_contents(kept, loose, self.rng.choice((0.1, 0.5, 0.9, 1.0)))

    def keep_names(self, kept, loose, early):
        for number in loose:
            op = self.recording.ops[number]
            if op[0] in ("link", "unlink", "rename") and early(op[1], number):
                kept[number] = None

    def keep_contents(self, kept, loose, share):
        """The pages of a file come in any order; what is on one page comes together."""
        done = {}
        for number in loose:
            op = self.recording.ops[number]
            if op[0] not in ("write", "cut"):
                continue
            small = op[0] == "cut" or op[2] + len(op[3]) <= PAGE
            if small and done.get(op[1]):
                continue  # Its page was written before this.
            if self.rng.random() >= share:
                done[op[1]] = small
            elif op[0] == "write" and self.rng.random() < 0.15:
                kept[number] = self.torn(op)
                done[op[1]] = small
            else:
                kept[number] = None

    def torn(self, op):
        """Cuts a write short: anywhere, but a first page only where the file ended before."""
        kind, inode, at, what = op
        if at + len(what) > PAGE:
            return kind, inode, at, what[: self.rng.randrange(len(what) + 1)]
        size = self.recording.size_before(op)
        return kind, inode, at, what[: max(0, size - at)]

    def judge(self, number, state):
        until, kept = state
        workspace = self.root / f"cut-{number}"
        self.recording.write(self.recording.state(kept), workspace)
        wrong, reported = self.start_again(workspace)
        if wrong:
            saved = f"/tmp/archi3d-torture-{os.getpid()}-power-{number}"
            contents = self.recording.state(kept)
            self.recording.write(contents, saved)
            label = f"cut after operation {until} (seed {self.seed}, kept in {saved})"
            wrong = [f"{label}: {line}" for line in wrong]
        shutil.rmtree(workspace, ignore_errors=True)
        return wrong, reported

    def start_again(self, workspace):
        try:
            table = oracle.Table.read(workspace)
        except (ValueError, OSError) as error:
            return [f"registry: {error}"], 0
        if table.keys() != self.before.keys():
            return ["registry: rows are missing or new"], 0
        reported = {
            job: cells
            for job, cells in table.cells("r").items()
            if cells["status"] in ("completed", "failed")
        }
        bought = purchases(workspace)
        # A job that its adapter called made ends as what was made, or as a doubt that is named: see `judge_made`.
        said = {job: nonces for job, nonces in made(workspace).items() if job not in reported}
        whole = {job: path for job in said for path in [self.whole_model(workspace, job, said[job])] if path}
        expected = {
            job: (*ends, "failed") if job in said and job not in whole else ends
            for job, ends in self.expected.items()
        }
        # A folder beside a damaged lease is swept by a start after the one that mends it.
        for number in range(4):
            if number > 1 and not has_wreckage(workspace):
                break
            time.sleep(SILENCE)
            ran = bench.run(worker(workspace, *OPTIONS))
            if ran.code not in (0, 1):
                return [f"the next start ended with {ran.code}: {ran.err[-300:]}"], len(reported)
        wrong = oracle.check(
            workspace, self.before, self.ids, expected, most=len(self.ids), after_cut=True
        )
        after = oracle.Table.read(workspace).cells("r")
        for job, cells in reported.items():
            if {**after[job], **cells} != after[job]:
                wrong.append(f"{job}: lost what was reported: {cells['status']}")
        for job, count in purchases(workspace).items():
            if bought.get(job) and count > bought[job]:
                wrong.append(f"{job}: bought again")
        self.made += said
        self.doubted += [job for job in said if after[job]["status"] == "failed"]
        for job, nonces in said.items():
            wrong += self.judge_made(workspace, job, nonces, after[job]["status"], job in bought)
        return wrong, len(reported)

    def whole_model(self, workspace, job, nonces):
        """Returns the model that the cut left whole of an attempt that is called made, or published."""
        outputs = workspace / "runs/r/outputs"
        folders = [outputs / job, *(f for n in nonces for f in (outputs / ".staging").glob(f"{job}.*-{n}"))]
        for folder in folders:
            for path in folder.glob("*.glb"):
                if path.read_bytes() == self.models.get(job):
                    return path
        return None

    def judge_made(self, workspace, job, nonces, status, has_id):
        """What an adapter called a success is there, or it is a doubt that the program names; and nothing was
        bought again. Who has a request id may fetch what was bought."""
        wrong = []
        new = made(workspace).get(job, set()) - nonces
        if new and not has_id:
            wrong.append(f"{job}: was made, and is made again")
        if status == "completed":
            model = workspace / "runs/r/outputs" / job / "generated.glb"
            if not model.is_file() or model.read_bytes() != self.models[job]:
                wrong.append(f"{job}: lost: completed, and the model is gone")
            return wrong
        return wrong + self.judge_doubt(workspace, job, "was made")

    def judge_doubt(self, workspace, job, what):
        """A job that is left to a person says why."""
        words = ["run", "explain", "--run-id", "r", job, "--workspace", str(workspace), "--json"]
        said = oracle.parse(bench.run(words).out) or {}
        if said.get("code") == "possibly_billed":
            return []
        return [f"{job}: lost: {what}, failed, and explain says {said.get('code')}"]


def made(workspace):
    """Returns by job the attempts of which a journal says that their adapter succeeded."""
    found = {}
    for line in oracle.journal_lines(workspace)[0]:
        if line.get("event") == "made":
            found.setdefault(line["job_id"], set()).add(line["nonce"])
    return found


def purchases(workspace):
    """Counts by job what its workers have noted as bought."""
    counts = {}
    for line in oracle.journal_lines(workspace)[0]:
        if line.get("event") == "submitted":
            counts[line["job_id"]] = counts.get(line["job_id"], 0) + 1
    return counts


def tree(root):
    """Returns every file with its content; locks and logs too."""
    found = {}
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found
