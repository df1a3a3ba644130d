"""What must hold after every fault and one clean start: one oracle for all of the torture."""

import csv
import hashlib
import io
import json
import os
from pathlib import Path

# What the store writes into rows; every other cell must keep its bytes.
OWNED = {
    "status", "generation_start", "generation_end", "generation_duration_s", "unit_price_usd",
    "estimated_cost_usd", "price_source", "gen_object_path", "preview_1_path", "preview_2_path",
    "preview_3_path", "error_msg", "algo_version", "worker_host", "worker_user", "worker_gpu",
    "worker_env", "worker_commit",
}
TERMINAL = ("completed", "failed", "cancelled")
MARKERS = ("inprogress", "completed", "failed", "released", "cancelled")


class Table:
    """A registry: parsed, and split into its raw rows."""

    def __init__(self, raw):
        if not raw.startswith(b"\xef\xbb\xbf"):
            raise ValueError("the registry has lost its byte order mark")
        text = raw.decode("utf-8-sig")
        if not text.endswith("\n"):
            raise ValueError("the registry ends within a line")
        rows = list(csv.reader(io.StringIO(text, newline="")))
        self.header, self.rows = rows[0], rows[1:]
        for number, cells in enumerate(self.rows, 2):
            if len(cells) != len(self.header):
                raise ValueError(f"row {number} has {len(cells)} of {len(self.header)} cells")

    @classmethod
    def read(cls, workspace):
        return cls((Path(workspace) / "tables" / "generations.csv").read_bytes())

    def cells(self, run):
        """Returns the rows of a run by job, as dictionaries."""
        at_run, at_job = self.header.index("run_id"), self.header.index("job_id")
        return {
            cells[at_job]: dict(zip(self.header, cells)) for cells in self.rows if cells[at_run] == run
        }

    def keys(self):
        at_run, at_job = self.header.index("run_id"), self.header.index("job_id")
        return [(cells[at_run], cells[at_job]) for cells in self.rows]

    def foreign(self, changed=()):
        """Returns everything that nobody but its owner may change."""
        own = [n for n, name in enumerate(self.header) if name in OWNED]
        at_run = self.header.index("run_id")
        kept = []
        for cells in self.rows:
            mine = cells[at_run] == "r"
            gone = {n for n, name in enumerate(self.header) if name in changed}
            kept.append(
                [
                    cell
                    for n, cell in enumerate(cells)
                    if n not in gone and not (n in own and (mine or cell == ""))
                ]
            )
        return kept


def journal_lines(workspace):
    """Returns all lines of all journals of run `r`, and how many cannot be read."""
    lines, bad = [], 0
    for path in sorted((Path(workspace) / "runs/r/state/journal").glob("*.jsonl")):
        raw = path.read_bytes()
        whole = raw.split(b"\n")
        for number, line in enumerate(whole):
            if not line.strip(b"\0 "):
                continue
            try:
                lines.append(json.loads(line))
            except ValueError:
                # A line that its writer did not come to end is no news.
                bad += number != len(whole) - 1 and not looks_torn(line)
    return lines, bad


def parse(line):
    """Returns a line of a journal, or nothing if it cannot be read."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def looks_torn(line):
    return not line.endswith(b"}")


def marker(path):
    """Returns the record in a marker, or nothing where another tool wrote it; raises ValueError where it is damaged."""
    for line in path.read_text(errors="replace").split("\n"):
        if line.startswith("archi3d: "):
            return json.loads(line[len("archi3d: ") :])
    return None


def completions(lines):
    """Returns by job the attempts that were finished with a result and not fenced."""
    fenced = {line["nonce"] for line in lines if line.get("event") == "fenced"}
    done = {}
    for line in lines:
        if line.get("event") != "finished" or not line["completed"] or line.get("simulated"):
            continue
        if line["nonce"] not in fenced:
            done.setdefault(line["job_id"], set()).add(line["nonce"])
    return done


def check(workspace, before, ids, expected, most=1, changed=(), bare=(), after_cut=False):
    """Returns what is wrong after a clean start; `expected` gives each job's possible endings,
    `most` how often a job may have been carried out to its end, `changed` the columns that somebody
    else writes, `bare` the jobs that may be finished without a marker, `after_cut` whether
    lines that were never synced may be damaged."""
    workspace, wrong = Path(workspace), []
    try:
        table = Table.read(workspace)
    except (ValueError, OSError, UnicodeDecodeError, csv.Error) as error:
        return [f"registry: {error}"]
    if table.keys() != before.keys():
        wrong.append("registry: rows are missing, new or in another order")
    elif table.foreign(changed) != before.foreign(changed):
        wrong.append("registry: cells of others have changed")
    rows = table.cells("r")
    for job in ids:
        endings = expected.get(job, ("completed",))
        wrong += check_job(workspace, job, rows.get(job), endings, job in bare)
    lines, bad = journal_lines(workspace)
    if bad and not after_cut:
        wrong.append(f"journals: {bad} lines cannot be read")
    for job, nonces in completions(lines).items():
        if len(nonces) > most:
            wrong.append(f"{job}: carried out {len(nonces)} times")
    wrong += leftovers(workspace, after_cut)
    return wrong


def check_job(workspace, job, cells, expected, bare=False):
    """Row, marker, journal and files of one job must tell the same story."""
    if cells is None:
        return [f"{job}: has no row"]
    folder = workspace / "runs/r/state"
    found = [kind for kind in MARKERS if (folder / f"{job}.{kind}").exists()]
    status = cells["status"]
    if status not in expected:
        return [f"{job}: the row says {status}, expected {'/'.join(expected)} ({found})"]
    if status == "enqueued":
        return [] if set(found) <= {"released"} else [f"{job}: waits, but has {found}"]
    if bare and not found:
        return []
    if found != [status]:
        return [f"{job}: the row says {status}, the markers are {found}"]
    try:
        record = marker(folder / f"{job}.{status}")
    except ValueError as error:
        return [f"{job}: its marker cannot be read: {error}"]
    if record is None or status == "cancelled":
        return []
    wrong = []
    for cell in record.get("patch") or []:
        name, value = cell["column"], cell["value"]
        if cells.get(name) != value and not cell.get("only_if_empty"):
            wrong.append(f"{job}: {name} is {cells.get(name)!r}, the marker says {value!r}")
    for output in record.get("outputs") or []:
        path = workspace / "runs/r/outputs" / job / output["name"]
        if not path.is_file():
            wrong.append(f"{job}: {output['name']} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != output["sha256"]:
            wrong.append(f"{job}: {output['name']} is not what its marker says")
    return wrong


def leftovers(workspace, after_cut=False):
    wrong = []
    for folder, names, files in os.walk(workspace):
        for name in files:
            kept = "/.previous/" in folder or "/.late/" in folder
            if name.endswith((".tmp", ".inprogress")) and not kept:
                wrong.append(f"left over: {Path(folder, name).relative_to(workspace)}")
        if folder.endswith("/.staging"):
            # One that no journal knows may be a living worker's, and is kept for a day.
            known = {line.get("nonce") for line in journal_lines(workspace)[0]}
            known_names = [name for name in names if name.rsplit("-", 1)[-1] in known]
            wrong += [f"left over: staging folder {name}" for name in known_names]
    path = workspace / "logs/worker.log"
    if not after_cut and path.exists():
        lines = path.read_bytes().splitlines()
        torn = [line for line in lines if line and parse(line) is None]
        wrong += [f"worker.log: a line cannot be read: {line[:80]!r}" for line in torn]
    return wrong + [f"still running: {line}" for line in processes(workspace)]


def processes(workspace):
    """Returns the processes that name the workspace, which nobody should have left."""
    found, wanted = [], str(workspace).encode()
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) == os.getpid():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes()
            zombie = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            continue
        if wanted in arguments and not zombie:
            found.append(arguments.replace(b"\0", b" ").decode(errors="replace")[:120])
    return found
