"""Runs of a fleet to torture: a workspace whose jobs buy, a database, workers in real processes, and what must hold when
everything has come to its end. The oracle is bytes and bills: the provider's own list of what it sold to whom."""

import json
import os
import random
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from . import bench
from .stage import children

PRICE = 0.25
MICROS = 250_000


def everybody_below(pid):
    """Returns a process and all that it started."""
    found = [pid]
    for child in children(pid):
        found += everybody_below(child)
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Server:
    """The PostgreSQL that `scripts/postgres-for-tests` started."""

    def __init__(self):
        self.control = shlex.split(os.environ["ARCHI3D_TEST_POSTGRES_CTL"])
        parts = dict(part.split("=") for part in os.environ["ARCHI3D_TEST_POSTGRES"].split("?")[1].split("&"))
        self.folder, self.port = parts["host"], parts["port"]

    def ctl(self, *words):
        # Its folder may be one that the server's user cannot enter.
        ran = subprocess.run([*self.control, *words], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return ran.returncode == 0

    def stop(self):
        self.ctl("stop", "-m", "immediate")

    def start(self):
        for _ in range(20):
            if self.ctl("start"):
                return
            time.sleep(0.5)
        raise RuntimeError("the server does not start again")

    def ask(self, sql, database="postgres"):
        command = ["psql", "-XAtq", "-h", self.folder, "-p", self.port, "-U", "postgres", "-d", database, "-c", sql]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode != 0:
            raise RuntimeError(f"{sql}: {ran.stderr}")
        return ran.stdout.strip()


class Proxy:
    """Stands between workers and the server, and cuts, before a statement arrives or before its answer does: each connection later
    than the one before, and at the first sight of every statement of `HOT`."""

    def __init__(self, server, first=2, cutting=True):
        self.server, self.first, self.cutting = server, first, cutting
        self.cuts = self.number = 0
        self.cut = set()  # the names of statements
        self.frozen = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.number += 1
            threading.Thread(target=self.carry, args=(client, self.number), daemon=True).start()

    def carry(self, client, number):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(f"{self.server.folder}/.s.PGSQL.{self.server.port}")
        except OSError:
            client.close()
            return
        left = self.first + number // 2 % 90 if self.cutting else 1 << 60
        before = number % 2 == 0
        state, prepared = {"left": left}, {}

        def up():
            while data := receive(client):
                self.wait()
                state["left"] -= 1
                said = statements(data, prepared)
                if self.cutting and (state["left"] <= 0 or said & HOT - self.cut):
                    state["left"] = 0
                    self.cuts += 1
                    self.cut |= said
                    if not before:
                        server.sendall(data)
                        time.sleep(random.uniform(0, 0.01))
                    break
                server.sendall(data)
            close(client, server)

        def down():
            while data := receive(server):
                self.wait()
                if state["left"] <= 0 and self.cutting:
                    break
                client.sendall(data)
            close(client, server)

        for way in (up, down):
            threading.Thread(target=quietly, args=(way,), daemon=True).start()

    def wait(self):
        """Nothing passes while the server seems to hang."""
        while self.frozen.is_set():
            time.sleep(0.02)

    def close(self):
        self.cutting = False
        self.listener.close()


TEXTS = {path.read_text().strip(): path.stem for path in
         (Path(__file__).parents[2] / "crates/archi3d-core/src/store/postgres/sql").glob("*.sql")}

# What jobs go through: all of them, and those that fail, are tried again, given back and cancelled.
HOT = {"claim", "claim_rare", "intent", "submitted", "made", "succeed", "beat", "budget_add", "reserve_line", "settle_line", "left", "next_due",
       "worker_register", "sweep", "fail", "put_off", "release", "cancel"}


def statements(data, prepared):
    """Returns the names of our statements that a client prepares or carries out in what it sends: messages of a letter and a length.
    `prepared` is what the connection knows."""
    names = set()
    while len(data) > 5 and (kind := data[:1]) in b"BCDEHPQSX":
        length = int.from_bytes(data[1:5], "big")
        parts = data[5 : 1 + length].split(b"\0")
        if kind == b"P" and len(parts) > 1:
            prepared[parts[0]] = TEXTS.get(parts[1].decode(errors="replace").strip())
            names.add(prepared[parts[0]])
        if kind == b"B" and len(parts) > 1:
            names.add(prepared.get(parts[1]))
        data = data[1 + length :]
    return names - {None}


def quietly(way):
    try:
        way()
    except OSError:
        pass


def receive(source):
    try:
        return source.recv(65536)
    except OSError:
        return b""


def close(*sockets):
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()


class Run:
    """One run of a fleet, its workers and its provider."""

    runs = ("r",)

    def __init__(self, server, name, jobs, keys=True, lease=2, work_s=0.2, cap=None, spool=None, big=0, trouble=0):
        self.server, self.name, self.lease, self.cap = server, name, lease, cap
        self.keys = keys
        self.folder = bench.scratch(f"fleet-{name}")
        self.spool = spool or self.folder / "spool"
        self.workspace = self.folder / "workspace"
        self.shop = self.folder / "shop"
        (self.shop / "sales").mkdir(parents=True)
        program = Path(__file__).with_name("seller.py")
        adapters = (
            f"  seller:\n    kind: process\n    protocol: 2\n    command: [python3, -S, {program}]\n"
            f"    unit_price_usd: {PRICE}\n    retries: 3\n    breaker_failures: 0\n"
            f"    reconciles: {'true' if keys else 'false'}\n"
            f"    defaults: {{shop: {self.shop}, keys: {'true' if keys else 'false'}, work_s: {work_s}, price: {PRICE}, big: {big}}}\n"
        )
        # Jobs that sell nothing: some are refused for good, some after a second try, some go on until somebody stops them.
        kinds = ("refuses", "fails", "lasts")
        for kind in kinds if trouble else ():
            adapters += (f"  {kind}:\n    kind: process\n    protocol: 2\n    command: [python3, -S, {program}]\n    retries: 2\n"
                         f"    breaker_failures: 0\n    unit_price_usd: 0\n    defaults: {{{kind}: true}}\n")
        algos = ["seller"] * jobs + [kind for kind in kinds for _ in range(trouble)]
        self.jobs = bench.make(self.workspace, algos, foreign=2, adapters=adapters)[:jobs]
        self.of = dict.fromkeys(self.jobs, "r")
        self.prepare()
        self.database = f"torture_{name}"
        server.ask(f"DROP DATABASE IF EXISTS {self.database}")
        server.ask(f"CREATE DATABASE {self.database}")
        self.url = f"host={server.folder} port={server.port} user=postgres dbname={self.database}"
        self.workers, self.started, self.codes, self.wrong = [], 0, Counter(), []
        self.do("fleet", "init")
        for run in self.runs:
            self.do("fleet", "push", "--run-id", run, "--lease-secs", str(lease))
        if self.wrong:
            raise RuntimeError(self.wrong[0])

    def prepare(self):
        """What is to be done to the workspace before it is pushed."""

    def environment(self, url=None, clock=None):
        kept = bench.environment(clock=clock)
        return {**kept, "ARCHI3D_STORE": url or self.url, "ARCHI3D_SPOOL": str(self.spool)}

    def do(self, *words, code=0, **how):
        command = [bench.binary("faulty"), *words, "--workspace", str(self.workspace)]
        ran = subprocess.run(command, env=self.environment(**how), capture_output=True, text=True, timeout=600)
        if code is not None and ran.returncode != code:
            self.wrong.append(f"`{' '.join(words)}` ended with {ran.returncode}: {ran.stderr[-400:]}")
        return ran

    def worker(self, *options, url=None, clock=None):
        words = [*self.kind(options), "--lease-secs", str(self.lease), "--yes", *options]
        if self.cap:
            words += ["--budget-usd", str(self.cap)]
        command = [bench.binary("faulty"), *words, "--workspace", str(self.workspace)]
        log = open(self.folder / f"worker-{self.started}.log", "wb")
        process = subprocess.Popen(
            command, env=self.environment(url, clock), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self.started += 1
        self.workers.append(process)
        return process

    def kind(self, options):
        """What kind of worker it is: one of this run."""
        return ["run", "worker", "--run-id", "r"]

    def keep(self, workers, *options, **how):
        """Starts workers in the place of those that have ended, as whoever supervises them does."""
        for process in list(self.workers):
            if process.poll() is not None:
                self.codes[process.returncode] += 1
                self.workers.remove(process)
        while len(self.workers) < workers:
            self.worker(*options, **how)

    def backends(self):
        """Returns the processes of the server that answer workers."""
        sql = f"SELECT pid FROM pg_stat_activity WHERE datname = '{self.database}' AND application_name LIKE 'archi3d%'"
        return [int(pid) for pid in self.server.ask(sql).split()]

    def count(self, status):
        return int(self.server.ask(f"SELECT count(*) FROM archi3d.jobs WHERE status = '{status}'", self.database))

    def leased(self):
        sql = "SELECT count(*) FROM archi3d.jobs WHERE status = 'running' AND lease_expires_at > clock_timestamp()"
        return int(self.server.ask(sql, self.database))

    def waiting(self):
        return int(self.server.ask(
            "SELECT count(*) FROM archi3d.jobs WHERE status IN ('pending','running','failed_retryable')", self.database))

    def wait(self, seconds=300):
        """Waits for the workers; returns those that do not end."""
        end = time.monotonic() + seconds
        for process in self.workers:
            try:
                self.codes[process.wait(max(0.1, end - time.monotonic()))] += 1
            except subprocess.TimeoutExpired:
                self.wrong.append(f"a worker does not come to an end: {self.tail()}")
                send(everybody_below(process.pid), signal.SIGKILL)
                process.wait()
        self.workers = []

    def tail(self):
        logs = sorted(self.folder.glob("worker-*.log"), key=lambda path: path.stat().st_mtime)
        return logs[-1].read_text(errors="replace")[-300:] if logs else ""

    def kill(self, process):
        """Kills a worker, sometimes with everything it started, as when the power goes."""
        pids = everybody_below(process.pid)
        send(pids if random.random() < 0.5 else pids[:2], signal.SIGKILL)
        process.wait()

    def end(self):
        for process in self.workers:
            send(everybody_below(process.pid), signal.SIGKILL)
            process.wait()
        self.workers = []

    def bill(self):
        try:
            lines = (self.shop / "bill").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line.split() for line in lines]

    def doubts(self):
        sql = ("SELECT s.job_id FROM archi3d.jobs j JOIN archi3d.job_specs s ON s.job_no = j.id "
               "WHERE j.status = 'failed_terminal' AND (j.last_class = 'unknown' OR j.intent IS NOT NULL)")
        return self.server.ask(sql, self.database).split()

    def judge(self):
        """Lets everything come to its end and returns what is wrong and the figures."""
        self.wait()
        for _ in range(4):
            if self.waiting():
                self.worker("--max-parallel", "8")
                self.wait()
        doubts = self.doubts()
        sold = Counter(job for job, _ in self.bill())
        for job, times in sold.items():
            if times > 1:
                self.wrong.append(f"job {job} was BOUGHT {times} times")
        if self.keys and doubts:
            self.wrong.append(f"{len(doubts)} jobs are in doubt although the provider knows its keys")
        if doubts:
            # A person has looked at the provider and says so.
            self.worker("--only-status", "failed", "--resubmit-unknown", "--max-parallel", "8")
            self.wait()
        self.judge_files()
        self.judge_database(doubts)
        return self.figures(doubts)

    def judge_database(self, doubts):
        ask = lambda sql: self.server.ask(sql, self.database)
        made = self.count("succeeded")
        if made != len(self.jobs):
            states = ask("SELECT status, count(*) FROM archi3d.jobs GROUP BY 1").replace("\n", ", ")
            errors = ask("SELECT DISTINCT left(last_error, 200) FROM archi3d.jobs WHERE status <> 'succeeded' LIMIT 3")
            self.wrong.append(f"LOST: {made} of {len(self.jobs)} jobs completed ({states}): {errors}")
        twice = ask("SELECT count(*) FROM (SELECT job_no FROM archi3d.attempts WHERE status = 'succeeded' GROUP BY 1 HAVING count(*) > 1) t")
        if twice != "0":
            self.wrong.append(f"{twice} jobs were completed more than once")
        gaps = ask("SELECT count(*) FROM archi3d.jobs j WHERE attempt_count <> (SELECT count(*) FROM archi3d.attempts a WHERE a.job_no = j.id)")
        if gaps != "0":
            self.wrong.append(f"{gaps} jobs have attempts that nobody recorded")
        spent, reserved = ask("SELECT coalesce(sum(spent), 0), coalesce(sum(reserved), 0) FROM archi3d.budgets WHERE scope LIKE 'run:%'").split("|")
        billed = len(self.bill()) * MICROS
        # What was in doubt and bought again may be on no bill: it counts as spent.
        if not billed <= int(spent) <= billed + len(doubts) * MICROS or reserved != "0":
            self.wrong.append(f"money: billed {billed}, spent {spent}, reserved {reserved}")

    def judge_files(self):
        for run in self.runs:
            self.do("fleet", "pull", "--run-id", run)
        sold = {sale: job for job, sale in self.bill()}
        for job in self.jobs:
            path = self.workspace / "runs" / self.of[job] / "outputs" / job / "generated.glb"
            try:
                raw = path.read_bytes()
            except FileNotFoundError:
                self.wrong.append(f"LOST: the model of job {job} is missing")
                continue
            length = struct.unpack("<I", raw[12:16])[0]
            sale = json.loads(raw[20 : 20 + length])["asset"]["extras"]["sale"]
            if sold.get(sale) != job:
                self.wrong.append(f"job {job} has a model that was sold to {sold.get(sale)}")
        rows = (self.workspace / "tables" / "generations.csv").read_text(encoding="utf-8-sig")
        completed = sum(",completed," in line for line in rows.splitlines())
        if completed != len(self.jobs):
            self.wrong.append(f"the table has {completed} completed rows of {len(self.jobs)}")

    def figures(self, doubts):
        lost = self.server.ask("SELECT count(*) FROM archi3d.attempts WHERE status = 'lost'", self.database)
        fenced = self.server.ask("SELECT count(*) FROM archi3d.attempts WHERE status = 'fenced'", self.database)
        attempts = self.server.ask("SELECT count(*) FROM archi3d.attempts", self.database)
        return {
            "jobs": len(self.jobs), "charges": len(self.bill()), "doubts": len(doubts), "attempts": attempts,
            "taken over": lost, "fenced": fenced, "workers": self.started,
        }


class Runs(Run):
    """Several runs whose workers serve all of them or one, on one machine; each worker has a name."""

    runs = ("r", "r1", "r2")

    def prepare(self):
        """Makes two shorter runs beside the first: they are over while it goes on."""
        self.names, self.killed = {}, set()
        count = max(2, len(self.jobs) // 4)
        for place, run in enumerate(self.runs[1:], 1):
            numbers = range(1000 * place, 1000 * place + count)
            jobs = [bench.job_id(number) for number in numbers]
            lines = [f"{job},{number},default,seller,1,{bench.IMAGE},,,,,,{bench.HASH},,Prodotto {number},Maker\n"
                     for number, job in zip(numbers, jobs)]
            folder = self.workspace / "runs" / run
            folder.mkdir(parents=True)
            (folder / "manifest.csv").write_text("\ufeff" + bench.MANIFEST + "\n" + "".join(lines), encoding="utf-8", newline="")
            with open(self.workspace / "tables" / "generations.csv", "a", encoding="utf-8", newline="") as table:
                table.writelines(bench.row(number, run, job, "seller") for number, job in zip(numbers, jobs))
            self.jobs += jobs
            self.of.update(dict.fromkeys(jobs, run))

    def kind(self, options):
        if "--only-status" in options:
            return super().kind(options)
        if self.single:
            return ["run", "worker", "--run-id", self.single]
        return ["fleet", "worker", "--until-idle", str(2 * self.lease)]

    single = None

    def worker(self, *options, single=None, **how):
        self.single, name = single, f"{self.name}-{self.started}"
        process = super().worker("--worker-id", name, *options, **how)
        self.single, self.names[process.pid] = None, name
        process.single = single
        return process

    def kill(self, process):
        self.killed.add(self.names[process.pid])
        super().kill(process)

    def judge_database(self, doubts):
        super().judge_database(doubts)
        lost = self.server.ask("SELECT DISTINCT worker_id FROM archi3d.attempts WHERE status = 'lost'", self.database).split()
        robbed = set(lost) - self.killed
        if robbed:
            self.wrong.append(f"{len(robbed)} workers that lived were taken for dead: {' '.join(sorted(robbed))}")
