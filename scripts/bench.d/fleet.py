"""Measures the fleet: many small jobs through a real worker on a real PostgreSQL, beside other queues on the same server."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import fleet_peers
from measure import run
from workloads import Bench, say

NODE = ["graphile-worker@0.18", "pg-boss@10"]
PYTHON = ["pgqueuer[asyncpg]==1.6.*", "procrastinate==3.10.*", "psycopg[binary]", "rq", "redis"]


class Server:
    """The throwaway PostgreSQL that scripts/postgres-for-tests started: a database of its own for everybody."""

    def __init__(self):
        self.url = os.environ["ARCHI3D_TEST_POSTGRES"]
        self.made = 0

    def sql(self, text, url=None):
        ran = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url or self.url, "-c", text],
                             capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"psql: {ran.stderr}")
        return ran.stdout.strip()

    def database(self):
        self.made += 1
        name = f"bench_{os.getpid()}_{self.made}"
        self.sql(f"CREATE DATABASE {name}")
        head, _, tail = self.url.partition("?")
        return f"{head.rpartition('/')[0]}/{name}" + (f"?{tail}" if tail else "")

    def settle(self):
        """What one measurement left for later falls on no other."""
        self.sql("CHECKPOINT")


def install(environment):
    """Installs the peers by name; returns the folder of node and the python."""
    node, python = environment / "node", environment / "python"
    if not (node / "node_modules").exists():
        say("installing " + " ".join(NODE) + " …")
        node.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *NODE], cwd=node, check=True)
    if not (python / "bin" / "rq").exists():
        say("installing " + " ".join(PYTHON) + " …")
        subprocess.run([sys.executable, "-m", "venv", str(python)], check=True)
        subprocess.run([str(python / "bin" / "pip"), "install", "-q", *PYTHON], check=True)
    return node, python / "bin" / "python"


class FleetBench(Bench):
    """The fleet's workloads."""

    def __init__(self, options, tools, folder, environment):
        super().__init__(options, tools, [], folder)
        self.node, self.python = install(environment)
        self.server = Server()

    def peer(self, name, program, source, *words):
        folder = self.fresh("peer")
        folder.mkdir(parents=True)
        if program == "node":
            path = self.node / f"{name.split()[0]}.cjs"
            command = ["node", str(path)]
        else:
            path = folder / "peer.py"
            (folder / "bench_noop.py").write_text(fleet_peers.RQ_JOB)
            command = [str(self.python), str(path)]
        path.write_text(source)
        url = os.environ.get("ARCHI3D_TEST_REDIS") if name.startswith("RQ") else self.server.database()
        ran = run([*command, url, str(self.count), *words])
        return json.loads(ran.out.splitlines()[-1])

    def ours(self, *words):
        """Pushes a run and has one worker rehearse it: a rehearsal makes no files, and its attempts and results are kept."""
        workspace, url = self.workspace("fleet", self.count), self.server.database()
        os.environ["ARCHI3D_STORE"] = url
        self.archi3d("fleet", "init", workspace=workspace)
        start = time.monotonic()
        self.archi3d("fleet", "push", "--run-id", "r", workspace=workspace)
        enqueue = time.monotonic() - start
        start = time.monotonic()
        ran = self.archi3d("run", "worker", "--run-id", "r", "--dry-run", "--max-parallel", 24, "--json", *words, workspace=workspace)
        drain = time.monotonic() - start
        completed = json.loads(ran.out)["completed"]
        if completed != self.count:
            raise SystemExit(f"{completed} of {self.count} jobs were completed")
        kept = self.server.sql("SELECT (SELECT count(*) FROM archi3d.results), (SELECT count(*) FROM archi3d.attempts)", url)
        if kept != f"{self.count}|{self.count}":
            raise SystemExit(f"results|attempts kept: {kept}")
        return {"enqueue": enqueue, "drain": drain, "rss_mb": ran.rss_mb}

    def no_op(self):
        self.count = 2_000 if self.options.quick else 20_000
        say(f"no-op jobs, {self.count} each")
        measured = {
            "archi3d, durable": lambda: self.ours(),
            "graphile-worker, 24": lambda: self.peer("graphile-worker", "node", fleet_peers.GRAPHILE, "default"),
            "graphile-worker, 24, local queue 500": lambda: self.peer("graphile-worker", "node", fleet_peers.GRAPHILE, "tuned"),
            "pg-boss, 100 × 2": lambda: self.peer("pg-boss", "node", fleet_peers.PG_BOSS),
            "pgqueuer, batch 10": lambda: self.peer("pgqueuer", "python", fleet_peers.PGQUEUER, "default"),
            "pgqueuer, batch 200": lambda: self.peer("pgqueuer", "python", fleet_peers.PGQUEUER, "tuned"),
            "procrastinate, 10": lambda: self.peer("procrastinate", "python", fleet_peers.PROCRASTINATE),
            "RQ, SimpleWorker": lambda: self.peer("RQ", "python", fleet_peers.RQ),
        }
        results = {name: [] for name in measured}
        for repetition in range(self.options.repeat):
            for name, measure in measured.items():
                self.server.settle()
                one = measure()
                results[name].append(one)
                say(f"  {repetition + 1}/{self.options.repeat} {name}: enqueue {self.count / one['enqueue']:,.0f}/s, "
                    f"drain {self.count / one['drain']:,.0f}/s")
        return {name: {key: statistics.median(one[key] for one in ones) for key in ones[0]} for name, ones in results.items()}

    def crowd(self, sleep_ms):
        """Many worker processes on one run: how long claims, beats and endings take inside them."""
        workers, jobs = (20, 200) if self.options.quick else (100, 1_000)
        say(f"{workers} workers, {jobs} jobs of {sleep_ms} ms")
        workspace, url = self.workspace("crowd", jobs), self.server.database()
        adapters = workspace / "config" / "adapters.yaml"
        adapters.write_text(adapters.read_text() + f"    sleep_ms: {sleep_ms}\n")
        os.environ["ARCHI3D_STORE"] = url
        self.archi3d("fleet", "init", workspace=workspace)
        self.archi3d("fleet", "push", "--run-id", "r", "--lease-secs", 6, workspace=workspace)
        times = workspace / "times.tsv"
        environment = {**os.environ, "ARCHI3D_STATEMENT_TIMES": str(times)}
        command = [str(self.tools.binary), "run", "worker", "--run-id", "r", "--max-parallel", "1", "--json", "--workspace",
                   str(workspace)]
        start = time.monotonic()
        running = [subprocess.Popen([*command, "--worker-id", f"w{number}"], env=environment, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for number in range(workers)]
        codes = [one.wait() for one in running]
        seconds = time.monotonic() - start
        done = int(self.server.sql("SELECT count(*) FROM archi3d.jobs WHERE status = 'succeeded'", url))
        took = {}
        for line in times.read_text().splitlines():
            name, micros = line.split("\t")
            took.setdefault(name, []).append(int(micros) / 1000)
        ms = {name: {"n": len(one), "p50": percentile(one, 0.5), "p99": percentile(one, 0.99)} for name, one in took.items()}
        return {"sleep_ms": sleep_ms, "workers": workers, "jobs": jobs, "done": done, "seconds": seconds, "failed": sum(code != 0 for code in codes),
                "ms": {name: ms[name] for name in sorted(ms, key=lambda name: -ms[name]["n"])[:12]}}

    def million(self):
        """A very large run: handing it over, looking at it, one worker's memory."""
        jobs = 20_000 if self.options.quick else 1_000_000
        say(f"a run of {jobs} jobs")
        workspace, url = self.workspace("million", jobs), self.server.database()
        os.environ["ARCHI3D_STORE"] = url
        self.archi3d("fleet", "init", workspace=workspace)
        push = self.archi3d("fleet", "push", "--run-id", "r", workspace=workspace)
        looks = [self.archi3d("run", "status", "--run-id", "r", "--json", workspace=workspace) for _ in range(5)]
        worker = self.archi3d("run", "worker", "--run-id", "r", "--dry-run", "--limit", 1_000, "--json", workspace=workspace)
        return {"jobs": jobs, "push_s": push.seconds, "push_mb": push.rss_mb,
                "status_s": statistics.median(one.seconds for one in looks), "worker_mb": worker.rss_mb}


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def markdown(results, machine):
    """The fleet's part of docs/benchmarks.md."""
    lines = ["## The fleet on PostgreSQL", "", "Made by `scripts/bench --fleet`; " + machine, ""]
    no_op = results["no_op"]
    ours = next(iter(no_op))
    count = results["count"]
    lines += [f"{count:,} jobs that do nothing, one process each, the same server, medians of {results['repeat']}. Ours is the real worker "
              "with 24 threads: every claim and every ending is committed before its thread goes on, attempts and results "
              "are kept, the start of the program counts.", "", "| | enqueue, jobs/s | drain, jobs/s | ours ÷ it |", "|---|--:|--:|--:|"]
    for name, one in no_op.items():
        ratio = "" if name == ours else f"{one['drain'] / no_op[ours]['drain']:.2f}"
        lines.append(f"| {name} | {count / one['enqueue']:,.0f} | {count / one['drain']:,.0f} | {ratio} |")
    for crowd in results["crowds"]:
        lines += ["", f"{crowd['workers']} worker processes, {crowd['jobs']:,} jobs of {crowd['sleep_ms']} ms: {crowd['done']:,} completed in "
                  f"{crowd['seconds']:.1f} s, measured inside the workers, milliseconds:", "", "| statement | n | p50 | p99 |",
                  "|---|--:|--:|--:|"]
        lines += [f"| {name} | {one['n']:,} | {one['p50']:.2f} | {one['p99']:.2f} |" for name, one in crowd["ms"].items()]
    large = results["million"]
    lines += ["", f"A run of {large['jobs']:,} jobs: `fleet push` {large['push_s']:.1f} s and {large['push_mb']:.0f} MB, `run status` "
              f"{large['status_s']:.2f} s, a worker {large['worker_mb']:.0f} MB.", ""]
    return "\n".join(lines)
