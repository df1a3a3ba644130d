"""Workspaces to torture, the binary that is tortured, and helpers for both."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where cargo puts what it builds.
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
IMAGE = "dataset/1/images/p_A.jpg"
HASH = "3b3b11db81dff5b7e956faba4a73d6a20621febb"
CREATED = "2026-11-16T02:14:48.720720+00:00"
REGISTRY = (
    "product_id,variant,manufacturer,product_name,category_l1,category_l2,category_l3,description,"
    "source_n_images,source_image_1_path,source_image_2_path,source_image_3_path,"
    "source_image_4_path,source_image_5_path,source_image_6_path,gt_object_path,run_id,job_id,algo,"
    "algo_version,used_n_images,used_image_1_path,used_image_2_path,used_image_3_path,"
    "used_image_4_path,used_image_5_path,used_image_6_path,image_set_hash,status,created_at,notes"
)
MANIFEST = (
    "job_id,product_id,variant,algo,used_n_images,used_image_1_path,used_image_2_path,"
    "used_image_3_path,used_image_4_path,used_image_5_path,used_image_6_path,image_set_hash,"
    "gt_object_path,product_name,manufacturer"
)
# Cells that are easily spoilt by whoever reads and writes them again.
ODD_NOTES = ['"a ""quoted"" note"', "007", "1e5", '"two\nlines"', "0.1000", "  blanks  ", "ünïcode"]


def binary(name):
    """Returns a binary that `build` has put aside."""
    return str(TARGET / "torture" / name)


def build(release=False):
    """Builds the program, with fault points unless it is the one that people get."""
    command = ["cargo", "build", "--quiet", "--bin", "archi3d"]
    command += ["--release"] if release else ["--features", "failpoints"]
    subprocess.run(command, cwd=ROOT, check=True)
    folder = TARGET / "torture"
    folder.mkdir(parents=True, exist_ok=True)
    built = TARGET / ("release" if release else "debug") / "archi3d"
    # Kept under its own name: the next build of the tests replaces the other one.
    name = "release" if release else "faulty"
    fresh = folder / f".{name}.{os.getpid()}"
    shutil.copy2(built, fresh)
    os.replace(fresh, folder / name)
    return str(folder / name)


def points():
    """Returns the names of all fault points, as they stand in the sources."""
    names = []
    for path in sorted((ROOT / "crates").rglob("*.rs")):
        names += re.findall(r'fault::(?:here|io)\(\s*"([^"]*)"\s*\)', path.read_text())
    return sorted(names)


def failing_points():
    """Returns those at which the disk can be made to fail."""
    names = []
    for path in sorted((ROOT / "crates").rglob("*.rs")):
        names += re.findall(r'fault::io\(\s*"([^"]*)"\s*\)', path.read_text())
    return sorted(names)


def scratch(kind, on_disk=False):
    """Makes a folder for one part of the torture: in memory where that will do."""
    memory = "/dev/shm" if not on_disk and os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix=f"archi3d-{kind}-", dir=memory))


def job_id(number):
    return hashlib.sha1(str(number).encode()).hexdigest()[:12]


def make(root, algos, foreign=20, adapters="", rows_first=False, numbers=None):
    """Makes a workspace whose run `r` has one job for each of `algos`; returns their ids, which come
    from `numbers` if some are wanted. Rows of another run stand among them."""
    root = Path(root)
    for folder in ("tables", "runs/r", "dataset/1/images", "config"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / IMAGE).write_bytes(b"x")
    (root / "config" / "adapters.yaml").write_text("adapters:\n" + adapters)
    ids, own, others, manifest = [], [], [], []
    for number, algo in enumerate(algos):
        job = job_id(numbers[number] if numbers else number)
        ids.append(job)
        own.append(row(number, "r", job, algo))
        manifest.append(
            f"{job},{number},default,{algo},1,{IMAGE},,,,,,{HASH},,Prodotto {number},Maker\n"
        )
    for number in range(len(algos), len(algos) + foreign):
        others.append(row(number, "other", job_id(number), "mock"))
    lines = own + others if rows_first or not own else mixed(own, others)
    with open(root / "tables" / "generations.csv", "w", encoding="utf-8", newline="") as out:
        out.write("\ufeff" + REGISTRY + "\n")
        out.writelines(lines)
    text = "\ufeff" + MANIFEST + "\n" + "".join(manifest)
    (root / "runs" / "r" / "manifest.csv").write_text(text, encoding="utf-8", newline="")
    return ids


def row(number, run, job, algo):
    note = ODD_NOTES[number % len(ODD_NOTES)]
    return (
        f"{number},default,Maker,Prodotto {number},Arredo,Sedie,Poltrone,Descr,1,{IMAGE},,,,,,,"
        f"{run},{job},{algo},,1,{IMAGE},,,,,,{HASH},enqueued,{CREATED},{note}\n"
    )


def mixed(own, others):
    step = max(1, len(others) // len(own))
    lines = []
    for number, line in enumerate(own):
        lines.append(line)
        lines += others[number * step : (number + 1) * step]
    return lines + others[len(own) * step :]


def worker(workspace, *options, run="r"):
    """Returns the arguments of a worker."""
    return ["run", "worker", "--run-id", run, "--workspace", str(workspace), *options]


def environment(faults=None, trace=None, clock=None):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FAILPOINTS", "ARCHI3D_"))}
    if faults:
        kept["FAILPOINTS"] = faults
    if trace:
        kept["ARCHI3D_FAULT_TRACE"] = str(trace)
    if clock:
        kept["ARCHI3D_FAULT_CLOCK"] = str(clock)
    return kept


class Ran:
    """How a command went."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def killed(self):
        return self.code in (-signal.SIGKILL, 128 + signal.SIGKILL)


def start(
    arguments, faults=None, trace=None, program=None, clock=None, output=subprocess.PIPE, before=()
):
    """Starts the program; `before` is a command that starts it in its turn."""
    return subprocess.Popen(
        [*before, program or binary("faulty"), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environment(faults, trace, clock),
        start_new_session=True,
    )


def finish(process, timeout=120):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Ran("hung", out.decode(errors="replace"), err.decode(errors="replace"))
    decode = lambda text: (text or b"").decode(errors="replace")
    return Ran(process.returncode, decode(out), decode(err))


def run(arguments, **how):
    return finish(start(arguments, **how))


def wait_for(condition, seconds=30):
    """Waits until something holds, or for as long as it can take on a busy machine: after a fault some
    things never come to be."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)


def state(workspace, job, kind):
    return Path(workspace) / "runs" / "r" / "state" / f"{job}.{kind}"


def is_stopped(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False
