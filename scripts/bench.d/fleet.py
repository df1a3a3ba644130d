"""Measures the fleet: many small jobs through a real worker on a real PostgreSQL, beside other queues on the same server."""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import fleet_peers
from measure import run
from workloads import Bench, say

NODE = ["graphile-worker@0.17", "pg-boss@10"]
PYTHON = ["pgqueuer[asyncpg]==1.6.*", "procrastinate==3.10.*", "psycopg[binary]", "rq", "redis"]

SQL = Path(__file__).resolve().parent.parent.parent / "crates" / "archi3d-core" / "src" / "store" / "postgres" / "sql"

# The statements whose plans are looked at, and the tables that none of them may read from end to end.
HOT = ["claim", "claim_bought", "claim_rare", "beat", "succeed_bare", "succeed", "left", "fail", "put_off", "release", "sweep", "intent", "submitted"]
LARGE = ["jobs", "job_specs", "attempts", "results", "artifacts", "purchases"]

# As a worker's connection has them (`store/postgres/connect.rs`), but for `enable_seqscan`: what would read a whole table is to be seen.
DIRECT = ("SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off; "
          "SET enable_bitmapscan = off; SET jit = off; SET max_parallel_workers_per_gather = 0;")

# Jobs of a run without a workspace's files: what counts is how many wait.
LOAD = """
INSERT INTO archi3d.jobs (run_no, algo, position, priority, max_attempts)
  SELECT {run}, 'bench_job', n, 0, 5 FROM generate_series({first}, {last}) AS n ORDER BY n;
INSERT INTO archi3d.job_specs (job_no, run_no, position, job_id, idempotency_key, product_id, variant, payload, payload_hash, cells)
  SELECT j.id, j.run_no, j.position, 'l' || lpad(j.position::text, 11, '0'), 'load/' || j.id, 'p', 'default', '{{"images": []}}', '', ''
  FROM archi3d.jobs j WHERE j.run_no = {run} AND j.position BETWEEN {first} AND {last};
UPDATE archi3d.run_algos SET jobs = jobs + {last} - {first} + 1 WHERE run_no = {run};
VACUUM (ANALYZE) archi3d.jobs;
VACUUM (ANALYZE) archi3d.job_specs;
"""


class Server:
    """The throwaway PostgreSQL that scripts/postgres-for-tests started: a database of its own for everybody."""

    def __init__(self):
        self.url = os.environ["ARCHI3D_TEST_POSTGRES"]
        self.made = 0

    def sql(self, text, url=None):
        words = [word for part in text.split(";\n") if part.strip() for word in ("-c", part)]
        ran = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url or self.url, *words], capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"psql: {ran.stderr}")
        return ran.stdout.strip()

    def database(self):
        self.made += 1
        name = f"bench_{os.getpid()}_{self.made}"
        self.sql(f"CREATE DATABASE {name}")
        head, _, tail = self.url.partition("?")
        return f"{head.rpartition('/')[0]}/{name}" + (f"?{tail}" if tail else "")

    def drop(self, url):
        name = url.partition("?")[0].rpartition("/")[2]
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

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
    """The fleet's workloads. Each part is made and told by itself."""

    def __init__(self, options, tools, folder, environment):
        super().__init__(options, tools, [], folder)
        self.environment = environment
        self.server = Server()

    def version(self):
        return self.archi3d("--version").out.split()[-1]

    def peer(self, name, program, source, *words):
        folder = self.fresh("peer")
        folder.mkdir(parents=True)
        if program == "node":
            path = self.node / f"{name}.cjs"
            command = ["node", str(path)]
        else:
            path = folder / "peer.py"
            (folder / "bench_noop.py").write_text(fleet_peers.RQ_JOB)
            command = [str(self.python), str(path)]
        path.write_text(source)
        url = os.environ.get("ARCHI3D_TEST_REDIS") if name == "RQ" else self.server.database()
        ran = run([*command, url, str(self.count), *words])
        if name != "RQ":
            self.server.drop(url)
        return json.loads(ran.out.splitlines()[-1])

    def pushed(self, name, jobs, options="files: false", lease=60):
        """Makes a workspace with a run that was handed over; returns it, its database and the push."""
        workspace, url = self.workspace(name, jobs), self.server.database()
        adapters = workspace / "config" / "adapters.yaml"
        adapters.write_text(adapters.read_text() + f"    {options}\n")
        os.environ["ARCHI3D_STORE"] = url
        os.environ["ARCHI3D_SPOOL"] = str(workspace / "spool")
        self.archi3d("fleet", "init", workspace=workspace)
        push = self.archi3d("fleet", "push", "--run-id", "r", "--lease-secs", lease, workspace=workspace)
        return workspace, url, push

    def worker(self, workspace, *words):
        """Has one worker work with 24 threads; returns what it said and cost."""
        ran = self.archi3d("run", "worker", "--run-id", "r", "--json", *words, workspace=workspace)
        return json.loads(ran.out), ran

    def ours(self, *words):
        """The real worker with an algorithm that makes no files; attempts and results are kept."""
        workspace, url, push = self.pushed("fleet", self.count)
        self.server.settle()
        said, ran = self.worker(workspace, *words)
        if said["completed"] != self.count:
            raise SystemExit(f"{said['completed']} of {self.count} jobs were completed")
        kept = self.server.sql("SELECT (SELECT count(*) FROM archi3d.results), (SELECT count(*) FROM archi3d.attempts WHERE status = 'succeeded')",
                               url)
        if kept != f"{self.count}|{self.count}":
            raise SystemExit(f"results|attempts kept: {kept}")
        self.server.drop(url)
        return {"enqueue": push.seconds, "drain": ran.seconds, "inside": said["elapsed_s"], "rss_mb": ran.rss_mb}

    def noop(self):
        self.node, self.python = install(self.environment)
        self.count = 2_000 if self.options.quick else 20_000
        say(f"no-op jobs, {self.count} each")
        node = lambda name, source, *words: lambda: self.peer(name, "node", source, *words)
        python = lambda name, source, *words: lambda: self.peer(name, "python", source, *words)
        # What it is called, what it is compared as, how it is measured.
        measured = [
            ("archi3d, 24 threads, durable", "ours", lambda: self.ours("--max-parallel", 24)),
            ("graphile-worker, 24", "default", node("graphile-worker", fleet_peers.GRAPHILE, "default")),
            ("archi3d, 100 threads, durable", "more", lambda: self.ours("--max-parallel", 100)),
            ("pg-boss, one at a time × 24", "default", node("pg-boss", fleet_peers.PG_BOSS, "24", "1")),
            ("pgqueuer, batch 10", "default", python("pgqueuer", fleet_peers.PGQUEUER, "default")),
            ("archi3d, 24 threads, --ahead 500", "ahead", lambda: self.ours("--max-parallel", 24, "--ahead", 500)),
            ("graphile-worker, 24, local queue 500", "best", node("graphile-worker", fleet_peers.GRAPHILE, "tuned")),
            ("pg-boss, 100 × 2", "best", node("pg-boss", fleet_peers.PG_BOSS, "2", "100")),
            ("pgqueuer, batch 200", "best", python("pgqueuer", fleet_peers.PGQUEUER, "tuned")),
            ("procrastinate, 10", "slow", python("procrastinate", fleet_peers.PROCRASTINATE)),
            ("RQ, SimpleWorker", "slow", python("RQ", fleet_peers.RQ)),
        ]
        skipped = [word for word in self.options.skip.split(",") if word]
        measured = [one for one in measured if not any(word in one[0] for word in skipped)]
        results = {name: {"as": kind, "runs": []} for name, kind, _ in measured}
        for repetition in range(self.options.repeat):
            for name, _, measure in measured:
                if any(ran["drain"] > 60 for ran in results[name]["runs"]):
                    continue  # Far behind: once is enough.
                self.server.settle()
                one = measure()
                results[name]["runs"].append(one)
                say(f"  {repetition + 1}/{self.options.repeat} {name}: enqueue {self.count / one['enqueue']:,.0f}/s, "
                    f"drain {self.count / one['drain']:,.0f}/s")
        for one in results.values():
            for key in ("enqueue", "drain", "inside"):
                if key in one["runs"][0]:
                    one[key] = self.count / statistics.median(ran[key] for ran in one["runs"])
        return {"count": self.count, "repeat": self.options.repeat, "tools": results}

    def times_of(self, path):
        """Reads what workers noted of their statements: name, milliseconds; of all, and of those that were over after every
        worker had begun and before one left."""
        noted = [line.split("\t") for line in path.read_text().splitlines()]
        path.unlink()
        noted = [(name, int(micros) / 1000, int(at)) for name, micros, at in noted]
        begun = max((at for name, _, at in noted if name == "worker_register"), default=0)
        left = min((at for name, _, at in noted if name == "worker_state" and at > begun), default=0)
        took, steady = {}, {}
        for name, ms, at in noted:
            took.setdefault(name, []).append(ms)
            if begun < at - ms * 1000 and at < left:
                steady.setdefault(name, []).append(ms)
        return took, steady

    def together(self, workspace, workers, *words):
        """Starts worker processes, waits for all; returns seconds, exit codes, megabytes of the largest, statements."""
        times = workspace / "times.tsv"
        environment = {**os.environ, "ARCHI3D_STATEMENT_TIMES": str(times)}
        command = [str(self.tools.binary), "run", "worker", "--run-id", "r", "--json", "--workspace", str(workspace), *words]
        start = time.monotonic()
        running = [subprocess.Popen([*command, "--worker-id", f"w{number}"], env=environment, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for number in range(workers)]
        codes, largest = [], 0
        for one in running:
            _, status, usage = os.wait4(one.pid, 0)
            one.returncode = os.waitstatus_to_exitcode(status)
            codes.append(one.returncode)
            largest = max(largest, usage.ru_maxrss / 1024)
        took, steady = self.times_of(times)
        return {"seconds": time.monotonic() - start, "failed": sum(code != 0 for code in codes), "rss_mb": largest,
                "ms": {name: figures(one) for name, one in took.items()},
                "steady": {name: figures(one) for name, one in steady.items()}}

    def crowd(self):
        """Many worker processes on one run: how long claims, beats and endings take inside them; and the sweep of the dead."""
        workers, jobs = (20, 200) if self.options.quick else (100, 1_000)
        crowds = []
        for sleep_ms in (500, 1_000, 2_000):
            say(f"{workers} workers, {jobs} jobs of {sleep_ms} ms")
            workspace, url, _ = self.pushed("crowd", jobs, f"files: false\n    sleep_ms: {sleep_ms}", lease=6)
            self.server.settle()
            one = self.together(workspace, workers, "--max-parallel", "1")
            done = int(self.server.sql("SELECT count(*) FROM archi3d.results", url))
            self.server.drop(url)
            crowds.append({"sleep_ms": sleep_ms, "workers": workers, "jobs": jobs, "done": done, **one})
        return {"crowds": crowds, "sweep": self.swept(1_000)}

    def swept(self, jobs):
        """A worker that starts takes back what the dead held."""
        say(f"a sweep of {jobs} expired leases")
        took = []
        for _ in range(self.options.repeat):
            workspace, url, _ = self.pushed("sweep", jobs, lease=6)
            self.server.sql("""UPDATE archi3d.jobs SET status = 'running', lease_owner = 'dead', lease_expires_at = now() - interval '1 h',
                current_attempt_id = gen_random_uuid(), attempt_count = 1, started_at = now() - interval '2 h';
                INSERT INTO archi3d.attempts (job_no, number, attempt_id, worker_id, entry, rehearsal, started_at)
                SELECT id, 1, current_attempt_id, 'dead', 'fresh', false, started_at FROM archi3d.jobs""".replace(";\n  ", ";\n"), url)
            wait_for_lease(self.server)
            one = self.together(workspace, 1, "--limit", "1")
            waiting = int(self.server.sql("SELECT count(*) FROM archi3d.jobs WHERE status <> 'running'", url))
            if waiting != jobs:
                raise SystemExit(f"{waiting} of {jobs} leases were taken back")
            took.append(one["ms"]["sweep"]["max"])
            self.server.drop(url)
        return {"jobs": jobs, "ms": statistics.median(took)}

    def many(self):
        """As many processes as a small cluster has."""
        workers, jobs = (20, 200) if self.options.quick else (200, 4_000)
        say(f"{workers} worker processes, {jobs} jobs")
        workspace, url, _ = self.pushed("many", jobs, "files: false\n    sleep_ms: 1000")
        one = self.together(workspace, workers, "--max-parallel", "2")
        counts = self.server.sql("SELECT (SELECT count(*) FROM archi3d.results), (SELECT count(*) FROM archi3d.attempts)", url)
        done, attempts = map(int, counts.split("|"))
        self.server.drop(url)
        return {"workers": workers, "jobs": jobs, "done": done, "attempts": attempts, **one}

    def million(self):
        """A very large run: handing it over, looking at it, one worker's memory, the plans of what is asked all the time."""
        jobs = 20_000 if self.options.quick else 1_000_000
        say(f"a run of {jobs} jobs")
        workspace, url, push = self.pushed("million", jobs)
        looks = [self.archi3d("run", "status", "--run-id", "r", "--json", workspace=workspace) for _ in range(5)]
        _, worker = self.worker(workspace, "--max-parallel", 24, "--limit", 5_000)
        plans = {name: plan_of(self.server, url, name) for name in HOT}
        if any(plans.values()):
            raise SystemExit(f"hot statements read whole tables: {plans}")
        self.server.drop(url)
        small, url, _ = self.pushed("small", 6_000)
        _, beside = self.worker(small, "--max-parallel", 24, "--limit", 5_000)
        self.server.drop(url)
        return {"jobs": jobs, "push_s": push.seconds, "push_mb": push.rss_mb, "status_s": statistics.median(one.seconds for one in looks),
                "worker_mb": worker.rss_mb, "small_worker_mb": beside.rss_mb, "plans": plans}

    def flat(self):
        """What a claim costs among few and many waiting jobs, and after many endings that nobody may forget yet."""
        most = 20_000 if self.options.quick else 1_000_000
        workspace, url, _ = self.pushed("flat", 100)
        number = self.server.sql("SELECT run_no FROM archi3d.runs", url)
        rows, at = [], 100
        for waiting in (1_000, most):
            self.server.sql(LOAD.format(run=number, first=at, last=at + waiting - 1), url)
            at += waiting
            rows.append((f"{waiting:,} more jobs wait", self.claims(workspace)))
        say(f"{most} endings while a snapshot is held open")
        held = subprocess.Popen(["psql", "-qAtX", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        held.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;\n")
        held.stdin.flush()
        held.stdout.readline()
        self.server.sql("UPDATE archi3d.jobs SET status = 'succeeded', completed_at = now(), attempt_count = 1 WHERE status = 'pending' "
                        f"AND position < {at - 5_000}", url)
        rows.append((f"{most:,} endings, their snapshot held open", self.claims(workspace)))
        held.communicate("COMMIT;\n")
        self.server.drop(url)
        return {"rows": rows}

    def claims(self, workspace):
        self.server.settle()
        one = self.together(workspace, 1, "--max-parallel", "24", "--limit", "1000")
        return {**one["ms"]["claim"], "seconds": one["seconds"]}


def wait_for_lease(server, seconds=7):
    """No lease is judged before the server has served for as long."""
    up = float(server.sql("SELECT extract(epoch FROM now() - pg_postmaster_start_time())"))
    time.sleep(max(0.0, seconds - up))


def plan_of(server, url, name):
    """Returns the large tables that a hot statement would read from end to end, by the plan that a worker keeps."""
    text = "\n".join(line for line in (SQL / f"{name}.sql").read_text().splitlines() if not line.lstrip().startswith("--"))
    count = max(int(number) for number in re.findall(r"\$(\d+)", text))
    nothing = ", ".join(["NULL"] * count)
    ran = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url, "-c", DIRECT, "-c", f"PREPARE one AS {text}",
                          "-c", f"EXPLAIN EXECUTE one({nothing})"], capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"the plan of {name}: {ran.stderr}")
    return [table for table in LARGE if re.search(rf"Seq Scan on {table}\b", ran.stdout)]


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def figures(values):
    return {"n": len(values), "p50": percentile(values, 0.5), "p99": percentile(values, 0.99), "max": max(values)}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def kept(yes):
    return "yes" if yes else "**no**"


def tell_noop(results):
    tools, count = results["tools"], results["count"]
    # What was skipped is compared with nothing.
    ours, more, ahead = (next((one for one in tools.values() if one["as"] == kind), None) for kind in ("ours", "more", "ahead"))
    times = lambda one, other: one and one["drain"] / other["drain"]
    written = lambda number: "" if number is None else f"{number:.2f}"
    lines = ["### Jobs that do nothing", "",
             f"{count:,} jobs, one process each, the same server, in turns, medians of {results['repeat']} (what takes over a minute once). Ours is the "
             "real worker with an algorithm that makes no files (`kind: mock`, `files: false`); attempts and results are kept, the start "
             "and the end of the program count (in brackets: without them, as the others are timed). Durable: every ending is committed and on the server's disk before "
             "its thread continues; a claim of what costs nothing is committed without waiting for the disk. With `--ahead` jobs are claimed before a "
             "thread waits for them, and an ending is on the worker's own disk before its thread continues.",
             ""]
    rows = []
    for name, one in tools.items():
        if one["as"] in ("ours", "more", "ahead"):
            rows.append([f"**{name}**", f"{one['enqueue']:,.0f}", f"{one['drain']:,.0f} ({one['inside']:,.0f})", "", "", "", ""])
            continue
        durable, hundred, tuned = times(ours, one), times(more, one), times(ahead, one)
        against_default, against_best = ours and one["as"] in ("default", "slow"), ahead and one["as"] in ("best", "slow")
        verdict = ([kept(durable >= 3)] if against_default else []) + ([kept(tuned > 1)] if against_best else [])
        rows.append([name, f"{one['enqueue']:,.0f}", f"{one['drain']:,.0f}", written(durable), written(hundred), written(tuned),
                     ", ".join(verdict)])
    lines += table(["", "enqueue, jobs/s", "drain, jobs/s", "24 threads ÷ it", "100 threads ÷ it", "ahead ÷ it", "kept"], rows)
    lines += ["", "Asked for: durable with 24 threads at least 3 times as fast as each in its default, with `--ahead` faster than each at its best."]
    return "\n".join(lines)


def tell_crowd(results):
    lines = ["### A hundred workers", "",
             "Milliseconds inside the workers. *At work*: from when the last of the processes had begun until the first of them left, which leaves out "
             "a hundred starts within a second on these cores.", ""]
    bars = {"claim": 10, "beat": 5}
    for crowd in results["crowds"]:
        lines += [f"{crowd['workers']} worker processes, {crowd['jobs']:,} jobs of {crowd['sleep_ms']} ms: {crowd['done']:,} completed in "
                  f"{crowd['seconds']:.1f} s ({crowd['failed']} processes failed).", ""]
        names = sorted(crowd["ms"], key=lambda name: -crowd["ms"][name]["n"])[:8]
        rows = []
        for name in names:
            one, bar = crowd["ms"][name], bars.get(name)
            steady = crowd["steady"].get(name, {"n": 0, "p50": 0, "p99": 0})
            rows.append([name, f"{one['n']:,}", f"{one['p50']:.2f}", f"{one['p99']:.2f}", f"{steady['n']:,}", f"{steady['p50']:.2f}",
                         f"{steady['p99']:.2f}", f"p99 under {bar}: {kept(steady['p99'] < bar)}" if bar else ""])
        lines += [*table(["statement", "n", "p50", "p99", "at work: n", "p50", "p99", "asked for"], rows), ""]
    sweep = results["sweep"]
    lines += [f"A sweep of {sweep['jobs']:,} expired leases at a worker's start: {sweep['ms']:.0f} ms (under 100: {kept(sweep['ms'] < 100)})."]
    return "\n".join(lines)


def tell_many(results):
    claim = results["ms"].get("claim", {"p50": 0, "p99": 0})
    return "\n".join(["### Two hundred processes", "",
                      f"{results['workers']} worker processes with two threads each on one run: {results['done']:,} of {results['jobs']:,} jobs "
                      f"of 1 s in {results['seconds']:.1f} s, {results['attempts']:,} attempts, {results['failed']} processes failed, at most "
                      f"{results['rss_mb']:.0f} MB each; claims {claim['p50']:.1f} ms (p99 {claim['p99']:.1f})."])


def tell_million(results):
    plans = "none of them reads a large table from end to end"
    return "\n".join(["### A million jobs", "",
                      f"A run of {results['jobs']:,} jobs: `fleet push` {results['push_s']:.1f} s ({results['jobs'] / results['push_s']:,.0f}/s, "
                      f"{results['push_mb']:.0f} MB), `run status` {results['status_s']:.2f} s (within 0.3: {kept(results['status_s'] <= 0.3)}). A "
                      f"worker that runs 5,000 of them {results['worker_mb']:.0f} MB, and {results['small_worker_mb']:.0f} MB on a run of 6,000. "
                      f"Plans of {len(results['plans'])} hot statements at that size: {plans}."])


def tell_flat(results):
    rows = [[name, f"{one['n']:,}", f"{one['p50']:.2f}", f"{one['p99']:.2f}", f"{one['max']:.1f}"] for name, one in results["rows"]]
    return "\n".join(["### What a claim costs", "", "One worker with 24 threads, 1,000 jobs each time; milliseconds of the statement that claims.",
                      "", *table(["", "n", "p50", "p99", "max"], rows)])
