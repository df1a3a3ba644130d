"""How the service holds up: requests a second and their 99th percentile, 200 event streams, and what a worker pays.

All clients are of this process and on this machine, so their work counts against the service.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ADAPTERS = """adapters:
  free:
    kind: mock
    image_mode: single
    unit_price_usd: 0
"""

HEADER = (
    "product_id,variant,manufacturer,product_name,category_l1,category_l2,category_l3,"
    "description,gt_object_path,image_1_path\n"
)


def make_workspace(folder, products):
    for name in ("tables", "config", "dataset"):
        (folder / name).mkdir(parents=True)
    (folder / "config" / "adapters.yaml").write_text(ADAPTERS, encoding="utf-8")
    rows = []
    for number in range(products):
        product = str(100_000 + number)
        image = f"dataset/{product}.jpg"
        (folder / image).write_bytes(product.encode())
        rows.append(f"{product},default,,,,,,,,{image}\n")
    (folder / "tables" / "items.csv").write_text(HEADER + "".join(rows), encoding="utf-8")


class Service:
    """A running `archi3d serve`."""

    def __init__(self, binary, folder, env=None):
        command = [binary, "--workspace", str(folder), "serve", "--json", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        text = ""
        told = None
        while told is None:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("bench: the service did not start")
            text += line
            try:
                told = json.loads(text)
            except ValueError:
                continue
        self.host, port = told["address"].rsplit(":", 1)
        self.port = int(port)
        self.headers = {"Authorization": f"Bearer {told['token']}"}

    def connection(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def cpu(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)


def percentile(times, share):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def requests(service, threads, make, enough):
    """Sends requests on kept connections until `enough` says so; returns figures."""
    times, lock, wrong = [], threading.Lock(), []

    def one():
        connection = service.connection()
        own = []
        while True:
            request = make()
            if request is None or enough():
                break
            method, path, body = request
            headers = dict(service.headers)
            if body is not None:
                headers["Content-Type"] = "application/json"
            began = time.perf_counter()
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            own.append(time.perf_counter() - began)
            if answer.status >= 300:
                wrong.append(answer.status)
        with lock:
            times.extend(own)

    began = time.perf_counter()
    workers = [threading.Thread(target=one) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - began
    if wrong:
        raise SystemExit(f"bench: the service answered {wrong[0]}")
    return {
        "requests": len(times),
        "per_second": len(times) / took,
        "p50_ms": percentile(times, 0.5) * 1e3,
        "p99_ms": percentile(times, 0.99) * 1e3,
    }


class Streams:
    """Event streams that only count what comes."""

    def __init__(self, service, count):
        self.sockets = []
        head = f"GET /api/v1/events HTTP/1.1\r\nHost: {service.host}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in service.headers.items())
        for _ in range(count):
            sock = socket.create_connection((service.host, service.port))
            sock.sendall((head + "\r\n").encode())
            sock.setblocking(False)
            self.sockets.append(sock)
        self.counts = [0] * count
        self.rests = [b""] * count
        self.over = False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        import selectors

        selector = selectors.DefaultSelector()
        for number, sock in enumerate(self.sockets):
            selector.register(sock, selectors.EVENT_READ, number)
        while not self.over:
            for key, _ in selector.select(0.2):
                number = key.data
                try:
                    piece = key.fileobj.recv(1 << 18)
                except BlockingIOError:
                    continue
                if not piece:
                    selector.unregister(key.fileobj)
                    continue
                text = self.rests[number] + piece
                self.counts[number] += text.count(b"event: job_completed")
                self.rests[number] = text[-19:] if not text.endswith(b"event: job_completed") else b""

    def wait(self, wanted, limit):
        until = time.monotonic() + limit
        while time.monotonic() < until and min(self.counts) < wanted:
            time.sleep(0.05)
        return min(self.counts)

    def close(self):
        self.over = True
        self.thread.join()
        for sock in self.sockets:
            sock.close()


def archi3d(binary, folder, *words, env=None):
    command = [binary, "--workspace", str(folder), *words]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(words)}: {done.stderr}")


def work(binary, folder, run):
    """Makes a run of every product and carries it out; returns jobs a second of the worker."""
    archi3d(binary, folder, "batch", "create", "--run-id", run, "--algos", "free")
    began = time.perf_counter()
    archi3d(binary, folder, "run", "worker", "--run-id", run, "--yes", "--max-parallel", "2")
    return time.perf_counter() - began


def new_runs(count, products):
    """Returns what makes so many orders, each for a run of its own."""
    numbers, lock = iter(range(count)), threading.Lock()

    def post():
        with lock:
            number = next(numbers, None)
        if number is None:
            return None
        body = {"parameters": {"algo": "free", "items": [str(100_000 + number % products)]}, "start": False,
                "notes": str(number), "dedupe": "none", "max_cost_usd": 0}
        return "POST", "/runs", json.dumps(body)

    return post


def bench(binary, base, quick, repeat):
    products = 300 if quick else 3_000
    seconds = 2 if quick else 10
    posts = 50 if quick else 500
    streams_count = 20 if quick else 200
    results = {"products": products, "streams": streams_count}

    # What a worker pays: turn about, so that a slow moment of the machine meets all of them; in memory, because a
    # disk differs by more from one moment to the next than by what is asked about here.
    memory = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else base))
    paces = {"alone": [], "served": [], "watched": []}
    turns = repeat if quick else max(repeat, 9)
    for turn in range(turns):
        for kind in sorted(paces, reverse=turn % 2):
            folder = place / f"pace-{turn}-{kind}"
            make_workspace(folder, products)
            service = Service(binary, folder) if kind != "alone" else None
            streams = Streams(service, 5) if kind == "watched" else None
            paces[kind].append(products / work(binary, folder, "r1"))
            if streams:
                streams.close()
            if service:
                service.stop()
            shutil.rmtree(folder)
    shutil.rmtree(place)
    # One figure each: how the two of a turn compare, in the middle of all turns. Medians of either side alone say less, for
    # the machine is faster in one turn than in the next.
    results["pace"] = {"alone": statistics.median(paces["alone"])}
    for kind in ("served", "watched"):
        shares = [one / alone for one, alone in zip(paces[kind], paces["alone"])]
        results["pace"][kind] = statistics.median(shares)
        results["pace"][f"{kind}_half"] = statistics.quantiles(shares, n=4)[::2] if len(shares) > 1 else shares * 2
    results["turns"] = turns

    folder = base / "load"
    make_workspace(folder, products)
    service = Service(binary, folder)
    archi3d(binary, folder, "batch", "create", "--run-id", "r0", "--algos", "free")
    until = time.monotonic() + seconds
    results["get"] = requests(
        service, 4, lambda: ("GET", "/runs/r0", None), lambda: time.monotonic() >= until
    )
    results["post"] = requests(service, 4, new_runs(posts, products), lambda: False)
    results["post_many"] = requests(service, 32, new_runs(2 * posts, products), lambda: False)
    service.stop()
    shutil.rmtree(folder)
    if "ARCHI3D_TEST_POSTGRES" in os.environ:
        folder = base / "load-postgres"
        make_workspace(folder, products)
        env = {**os.environ, "ARCHI3D_STORE": os.environ["ARCHI3D_TEST_POSTGRES"]}
        archi3d(binary, folder, "fleet", "init", env=env)
        service = Service(binary, folder, env)
        results["post_postgres"] = requests(service, 4, new_runs(posts, products), lambda: False)
        service.stop()
        shutil.rmtree(folder)

    # Streams, while a worker runs, one client asks and one orders.
    folder = base / "streams"
    make_workspace(folder, products)
    service = Service(binary, folder)
    streams = Streams(service, streams_count)
    time.sleep(1)
    before = service.cpu()
    archi3d(binary, folder, "batch", "create", "--run-id", "r1", "--algos", "free")
    worker = threading.Thread(
        target=archi3d, args=(binary, folder, "run", "worker", "--run-id", "r1", "--yes", "--max-parallel", "2")
    )
    began = time.perf_counter()
    worker.start()
    is_over = lambda: not worker.is_alive()  # noqa: E731
    ordered = {}
    orders = threading.Thread(target=lambda: ordered.update(requests(service, 1, new_runs(1 << 30, products), is_over)))
    orders.start()
    asked = requests(service, 1, lambda: ("GET", "/runs/r1", None), is_over)
    worker.join()
    took = time.perf_counter() - began
    orders.join()
    least = streams.wait(products, 60)
    results["watching"] = {
        "worker_per_second": products / took,
        "least_events": least,
        "server_cpu_s": service.cpu() - before,
        "seconds": took,
        "get": asked,
        "post": ordered,
    }
    streams.close()
    service.stop()
    shutil.rmtree(folder)
    return results


def markdown(results, machine):
    def row(name, one):
        return (
            f"| {name} | {one['requests']:,} | {one['per_second']:,.0f} | {one['p50_ms']:.1f} | {one['p99_ms']:.1f} |"
        )

    pace = results["pace"]

    def share(kind):
        low, high = (f"{bound * 100 - 100:+.1f}" for bound in pace[f"{kind}_half"])
        return f"{pace[kind] * 100 - 100:+.1f} % (half of the turns between {low} and {high})"

    watching = results["watching"]
    lines = [
        "## The service",
        "",
        f"`scripts/bench --service`; {machine} Clients are on the same machine, and their work counts against the service.",
        "",
        "| request | requests | a second | p50 (ms) | p99 (ms) |",
        "|---|--:|--:|--:|--:|",
        row(f"`GET /runs/{{id}}`, a run of {results['products']:,} jobs, 4 clients", results["get"]),
        row("`POST /runs`, a run of one job each, on files, 4 clients", results["post"]),
        row("`POST /runs`, the same, 32 clients", results["post_many"]),
        *([row("`POST /runs`, the same, on PostgreSQL, 4 clients", results["post_postgres"])] if "post_postgres" in results else []),
        row(
            f"`GET /runs/{{id}}` beside a worker at full pace, {results['streams']} event streams and a client that orders, 1 client",
            watching["get"],
        ),
        row("`POST /runs`, at the same time", watching["post"]),
        "",
        f"* {results['streams']} event streams: the one that got least got {watching['least_events']:,} of "
        f"{results['products']:,} endings; the service took {watching['server_cpu_s']:.1f} s of processor in "
        f"{watching['seconds']:.1f} s, the worker did {watching['worker_per_second']:,.0f} jobs/s.",
        f"* A worker of jobs that take no time, in memory, {results['turns']} turns, each with and without: alone {pace['alone']:,.0f} jobs/s; beside a service that nobody asks "
        f"{share('served')}; beside one with 5 event streams {share('watched')}.",
        "",
    ]
    return "\n".join(lines)
