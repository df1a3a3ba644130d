"""The workloads: what is run, how often, in which order."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from measure import Ran, Series, run

ALGO = "bench_job"

ADAPTERS = """adapters:
  bench_job:
    kind: {kind}
    image_mode: single
    unit_price_usd: 0
    {command}
"""

FULL = {
    "a": [1_000, 5_000],
    "b": [100, 1_000, 10_000, 100_000],
    "c": [0, 10_000, 100_000, 1_000_000],
    "d": [10_000, 100_000],
    "e": [10_000, 100_000],
}

QUICK = {
    "a": [500],
    "b": [100, 1_000, 4_000],
    "c": [0, 10_000, 100_000],
    "d": [4_000],
    "e": [10_000, 100_000],
}


class Tools:
    """The programs that are measured or measure."""

    def __init__(self, binary, job, floor):
        self.binary, self.job, self.floor = binary, job, floor


def build(root, binary):
    """Builds the release program and what the benchmarks need beside it."""
    print("building …", flush=True)
    command = ["cargo", "build", "--release", "--quiet", "--example", "bench_job", "--example", "bench_floor"]
    if binary is None:
        command += ["--bin", "archi3d"]
    subprocess.run(command, cwd=root, check=True)
    release = root / "target" / "release"
    own = Path(binary).resolve() if binary else release / "archi3d"
    return Tools(own, release / "examples" / "bench_job", release / "examples" / "bench_floor")


class Bench:
    """Makes workspaces and runs the workloads in them. Nothing is deleted before the end:
    ext4 avoids inodes that were freed shortly before, which would slow the next run down."""

    def __init__(self, options, tools, peers, folder):
        self.options, self.tools, self.peers, self.folder = options, tools, peers, folder
        self.sizes = QUICK if options.quick else FULL
        self.made = 0
        self.template = self.make_template()

    def fresh(self, name):
        self.made += 1
        return self.folder / f"{self.made:03}-{name}"

    def archi3d(self, *words, workspace=None, check=True):
        command = [str(self.tools.binary), *map(str, words)]
        if workspace is not None:
            command += ["--workspace", str(workspace)]
        return run(command, check=check)

    def make_template(self):
        """Has the program itself make a table of one job, whose row is then multiplied."""
        workspace = self.fresh("template")
        picture = workspace / "dataset" / "100001 - default" / "images" / "photo_A.jpg"
        picture.parent.mkdir(parents=True)
        shutil.copy(Path("fixtures/simulate/preview_1.png"), picture)
        self.configure(workspace, "mock")
        self.archi3d("catalog", "build", workspace=workspace)
        self.archi3d("batch", "create", "--run-id", "r", "--algos", ALGO, workspace=workspace)
        registry = (workspace / "tables" / "generations.csv").read_text("utf-8").splitlines()
        manifest = (workspace / "runs" / "r" / "manifest.csv").read_text("utf-8").splitlines()
        return workspace, registry, manifest

    def configure(self, workspace, kind):
        config = workspace / "config"
        config.mkdir(parents=True, exist_ok=True)
        command = f"command: [{json.dumps(str(self.tools.job))}]" if kind == "process" else ""
        (config / "adapters.yaml").write_text(ADAPTERS.format(kind=kind, command=command))
        (config / "global.yaml").write_text(f"algorithms: [{ALGO}]\n")

    def workspace(self, name, jobs, kind="mock", foreign=0):
        """Makes a workspace with a run of `jobs` jobs and `foreign` rows of other runs."""
        template, registry, manifest = self.template
        workspace = self.fresh(name)
        shutil.copytree(template / "dataset", workspace / "dataset")
        self.configure(workspace, kind)
        (workspace / "tables").mkdir()
        (workspace / "runs" / "r").mkdir(parents=True)
        job = manifest[1].split(",")[0]
        other = registry[1].replace(",r,", ",other,", 1).replace("enqueued", "completed")
        with open(workspace / "tables" / "generations.csv", "w", encoding="utf-8", newline="") as file:
            file.write(registry[0] + "\n")
            multiply(file, other, job, foreign, "f")
            multiply(file, registry[1], job, jobs, "j")
        with open(workspace / "runs" / "r" / "manifest.csv", "w", encoding="utf-8", newline="") as file:
            file.write(manifest[0] + "\n")
            multiply(file, manifest[1], job, jobs, "j")
        return workspace

    def work(self, workspace, jobs, *words):
        """Runs the worker and checks that it did what it was to do."""
        ran = self.archi3d("run", "worker", "--run-id", "r", "--max-parallel", 2, "--json", *words,
                           workspace=workspace)
        completed = json.loads(ran.out)["completed"]
        if completed != jobs:
            raise SystemExit(f"{completed} of {jobs} jobs were completed in {workspace}")
        return ran


def multiply(file, line, job, count, salt):
    before, _, after = line.partition(job)
    for number in range(count):
        name = hashlib.sha1(f"{salt}{number}".encode()).hexdigest()[:12]
        file.write(f"{before}{name}{after}\n")


def say(text):
    print(text, flush=True)


def run_all_repetitions(bench, measurements):
    """Measures everything once, then everything again: whatever else the machine does falls on all."""
    series = {name: Series(jobs) for name, (jobs, _) in measurements.items()}
    for repetition in range(bench.options.repeat):
        for name, (_, measure) in measurements.items():
            ran = measure()
            series[name].add(ran)
            say(f"  {repetition + 1}/{bench.options.repeat} {name}: {ran.seconds:.3f} s")
    return {name: one.summary() for name, one in series.items()}


def processes(bench):
    """(a) The same program as an adapter and under each peer, two at a time."""
    results = {}
    for count in bench.sizes["a"]:
        say(f"(a) a program for each of {count} jobs")

        def ours(count=count):
            workspace = bench.workspace(f"process-{count}", count, "process")
            return bench.work(workspace, count)

        measurements = {"archi3d": (count, ours)}
        for peer in bench.peers:
            measurements[peer.name] = (
                count,
                lambda peer=peer, count=count: peer.measure(bench.tools.job, count, bench.fresh("peer")),
            )
        results[count] = run_all_repetitions(bench, measurements)
    return results


def in_process(bench):
    """(b) Jobs without a program, (f) the same file operations in a bare loop, and (d) what
    follows: everything done."""
    results, after = {}, {}
    for count in bench.sizes["b"]:
        say(f"(b) {count} jobs in the process, (f) their file operations alone")
        last = {}

        def rehearse(count=count, last=last):
            last["workspace"] = bench.workspace(f"dry-{count}", count)
            return bench.work(last["workspace"], count, "--dry-run")

        def mock(count=count):
            return bench.work(bench.workspace(f"mock-{count}", count), count)

        def floor(extent, count=count, last=last):
            table = (last["workspace"] / "tables" / "generations.csv").stat().st_size
            ran = run([str(bench.tools.floor), extent, str(bench.fresh("floor")), str(count), "2", str(table)])
            return Ran(json.loads(ran.out)["seconds"], ran.rss_mb, ran.out)

        results[count] = run_all_repetitions(
            bench,
            {
                "dry run": (count, rehearse),
                "floor": (count, lambda floor=floor: floor("same")),
                "least": (count, lambda floor=floor: floor("least")),
                "mock": (count, mock),
            },
        )
        if count in bench.sizes["d"] and "d" in bench.options.only:
            after[count] = when_done(bench, last["workspace"], count)
    return results, after


def when_done(bench, workspace, count):
    """(d) Resume, status and plan of a run with everything done."""
    say(f"(d) {count} jobs are done")
    commands = {
        "resume": ["run", "worker", "--run-id", "r", "--max-parallel", 2, "--dry-run"],
        "run status": ["run", "status", "--run-id", "r"],
        "run plan": ["run", "plan", "--run-id", "r"],
    }
    measurements = {}
    for name, words in commands.items():
        if bench.archi3d(*words[:2], "--help", check=False).out == "":
            say(f"left out: this archi3d has no `{name}`")
            continue
        measurements[name] = (None, lambda words=words: bench.archi3d(*words, workspace=workspace))
    return run_all_repetitions(bench, measurements)


def start_up(bench):
    """(d) The time to start at all: the best case of many, because it is so short."""
    say("(d) start-up")
    command = ["sh", "-c", f'for n in $(seq 100); do "{bench.tools.binary}" --version; done']

    def many():
        ran = run(command)
        return Ran(ran.seconds / 100, ran.rss_mb, "")

    return run_all_repetitions(bench, {"--version": (None, many)})["--version"]


def foreign_rows(bench):
    """(c) A run of 1,000 jobs in a table full of other runs, and what such a file costs to
    read and to write."""
    measurements, disk = {}, {}
    for rows in bench.sizes["c"]:

        def inside(rows=rows):
            workspace = bench.workspace(f"foreign-{rows}", 1_000, foreign=rows)
            ran = bench.work(workspace, 1_000, "--dry-run")
            table = workspace / "tables" / "generations.csv"
            disk.setdefault(rows, []).append(json.loads(run([str(bench.tools.floor), "file", str(table)]).out))
            table.unlink()
            return ran

        measurements[f"{rows} rows"] = (1_000, inside)
    say("(c) 1,000 jobs inside a table of other runs' rows")
    results = run_all_repetitions(bench, measurements)
    for rows, found in disk.items():
        middle = sorted(found, key=lambda one: one["read"] + one["write"])[len(found) // 2]
        results[f"{rows} rows"].update(rows=rows, table=middle)
    return results


def folds(bench):
    """(e) One patch into a table that is in memory, durable, beside a plain write of its size."""
    results = {}
    for rows in bench.sizes["e"]:
        say(f"(e) one patch into {rows} rows")
        workspace = bench.workspace(f"fold-{rows}", rows)
        job = hashlib.sha1(f"j{rows // 2}".encode()).hexdigest()[:12]
        table = workspace / "tables" / "generations.csv"
        found = [
            json.loads(run([str(bench.tools.floor), "fold", str(table), "r", job]).out)
            for _ in range(bench.options.repeat)
        ]
        results[rows] = sorted(found, key=lambda one: one["fold"] / one["write"])[len(found) // 2]
    return results


def run_workloads(bench):
    results = {}
    only = bench.options.only
    if "a" in only:
        results["processes"] = processes(bench)
    if "c" in only:
        results["foreign"] = foreign_rows(bench)
    if "e" in only:
        results["folds"] = folds(bench)
    if "d" in only:
        results["start"] = start_up(bench)
    if "b" in only:
        results["in_process"], results["done"] = in_process(bench)
    results["binary_mb"] = bench.tools.binary.stat().st_size / 1e6
    return results


def run_bench(options, tools, peers, folder):
    return run_workloads(Bench(options, tools, peers, folder))
