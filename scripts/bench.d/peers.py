"""Other tools that start a program for every job, two at a time."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measure import Ran, run

DODO = """
DOIT_CONFIG = {{"backend": "sqlite3", "dep_file": {db!r}, "verbosity": 0}}

def task_job():
    for line in open({list!r}):
        yield {{"name": line.strip().rpartition("/")[2], "actions": [[{program!r}, line.strip()]]}}
"""

RQ_JOB = """
import subprocess

def job(program, folder):
    subprocess.run([program, folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
"""

RQ_FILL = """
import sys
from redis import Redis
from rq import Queue
from bench_rq_job import job

program, listed, socket = sys.argv[1:]
queue = Queue(connection=Redis(unix_socket_path=socket))
queue.enqueue_many([
    Queue.prepare_data(job, (program, line.strip())) for line in open(listed)
])
"""


class Peer:
    """A peer: its name, its version, and whether it keeps a record of its jobs."""

    def __init__(self, name, version, keeps_state, start):
        self.name, self.version, self.keeps_state = name, version, keeps_state
        self.start = start

    def measure(self, program, count, folder):
        """Runs `count` jobs in an empty folder."""
        folder.mkdir()
        listed = folder / "jobs.txt"
        outputs = folder / "outputs"
        outputs.mkdir()
        with open(listed, "w", encoding="utf-8") as file:
            file.writelines(f"{outputs}/{number:06}\n" for number in range(count))
        ran = self.start(str(program), listed, folder)
        made = sum(1 for _ in outputs.glob("*/generated.glb"))
        if made != count:
            raise SystemExit(f"{self.name} made {made} of {count} results")
        return ran


def find(environment, may_install):
    """Returns the peers that can be used, and why others cannot."""
    found, missing = [], []
    if may_install:
        install(environment)
    xargs = shutil.which("xargs")
    if xargs:
        found.append(Peer("xargs -P2", first_line([xargs, "--version"]), False, with_xargs))
    else:
        missing.append("xargs is not installed")
    parallel = shutil.which("parallel")
    if parallel and "GNU" in first_line([parallel, "--version"]):
        version = first_line([parallel, "--version"])
        found.append(Peer("GNU parallel --joblog", version, True, with_parallel))
    else:
        missing.append("GNU parallel is not installed (apt-get install parallel)")
    doit = environment / "bin" / "doit"
    if doit.exists():
        version = "doit " + first_line([str(doit), "--version"])
        found.append(Peer("doit, sqlite", version, True, lambda *a: with_doit(doit, *a)))
    else:
        missing.append("doit is not installed (pip install doit)")
    redis = shutil.which("redis-server")
    python = environment / "bin" / "python"
    if redis and (environment / "bin" / "rq").exists():
        rq = subprocess.run(
            [str(python), "-c", "import rq; print(rq.__version__)"], capture_output=True, text=True
        )
        version = f"RQ {rq.stdout.strip()}, {first_line([redis, '--version'])}"
        found.append(Peer("RQ, 2 SimpleWorkers", version, True, lambda *a: with_rq(python, redis, *a)))
    else:
        missing.append("RQ needs redis-server and pip install rq")
    return found, missing


def install(environment):
    """Installs what is absent, as far as that goes without questions."""
    wanted = [package for package, program in
              [("parallel", "parallel"), ("redis-server", "redis-server")]
              if not shutil.which(program)]
    if wanted and shutil.which("apt-get") and os.geteuid() == 0:
        print(f"installing {' '.join(wanted)} …", flush=True)
        quiet(["apt-get", "install", "-y", "-q", *wanted])
    if not (environment / "bin" / "rq").exists():
        print("installing doit and rq …", flush=True)
        quiet([sys.executable, "-m", "venv", str(environment)])
        quiet([str(environment / "bin" / "pip"), "install", "-q", "doit", "rq"])


def quiet(command):
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    except (OSError, subprocess.TimeoutExpired):
        pass


def first_line(command):
    ran = subprocess.run(command, capture_output=True, text=True)
    return (ran.stdout.splitlines() or [""])[0].strip()


def with_xargs(program, listed, folder):
    with open(listed, encoding="utf-8") as file:
        return run(["xargs", "-P2", "-n1", program], stdin=file)


def with_parallel(program, listed, folder):
    environment = {**os.environ, "PARALLEL_HOME": str(folder)}
    (folder / "will-cite").touch()
    return run(
        ["parallel", "-j2", "--joblog", str(folder / "jobs.log"), program, "{}", "::::", str(listed)],
        env=environment, stdin=subprocess.DEVNULL,
    )


def with_doit(doit, program, listed, folder):
    dodo = folder / "dodo.py"
    dodo.write_text(DODO.format(db=str(folder / "doit.db"), list=str(listed), program=program))
    return run([str(doit), "-f", str(dodo), "-n", "2", "-P", "thread"], cwd=folder)


def with_rq(python, redis, program, listed, folder):
    socket = Path(f"/tmp/archi3d-bench-{os.getpid()}.sock")
    server = subprocess.Popen(
        [redis, "--port", "0", "--unixsocket", str(socket), "--dir", str(folder)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        while not socket.exists():
            if server.poll() is not None:
                raise SystemExit("redis-server does not start")
            time.sleep(0.01)
        (folder / "bench_rq_job.py").write_text(RQ_JOB)
        (folder / "fill.py").write_text(RQ_FILL)
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        url = f"unix://{socket}"
        worker = [str(python.parent / "rq"), "worker", "--burst", "--quiet", "--url", url,
                  "--worker-class", "rq.SimpleWorker", "--disable-job-desc-logging"]
        start = time.monotonic()
        fill = run([str(python), str(folder / "fill.py"), program, str(listed), str(socket)],
                   env=environment, cwd=folder)
        others = [subprocess.Popen(worker, env=environment, cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        mine = run(worker, env=environment, cwd=folder)
        for other in others:
            other.wait()
        return Ran(time.monotonic() - start, max(fill.rss_mb, mine.rss_mb), mine.out)
    finally:
        server.terminate()
        server.wait()
        socket.unlink(missing_ok=True)
