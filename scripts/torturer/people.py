"""What people and their tools do to a workspace in mid-run: a spreadsheet saves the table, a ledger or a
journal is deleted, cut or put back from a copy, a rehearsal comes between real runs."""

import csv
import io
import os
import shutil
import time

from . import bench, bills
from .provider import PRICE
from .stories import Scene, Story

# Jobs whose ids a spreadsheet takes for numbers: digits only, and digits around one `e`.
LIKE_NUMBERS = (385, 567, 85, 173)
HARMS = ("deleted", "cut", "emptied", "older", "copied")


# --- tables -----------------------------------------------------------------------------------


def as_number(cell):
    """Returns what a spreadsheet makes of a cell that looks like a number."""
    try:
        value = float(cell)
    except ValueError:
        return cell
    if len(cell) < 12 and cell.strip().isdigit():
        return str(int(value))
    if value in (float("inf"), float("-inf")) or value != value:
        return cell
    if abs(value) >= 1e11:
        return f"{value:.5E}"
    return f"{value:.10G}"


def spreadsheet(path, change=lambda row: row, drop=(), ends="\r\n", mark=""):
    """Saves a table as a spreadsheet does: numbers mangled, other line ends and quotes, no mark."""
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    head, rows = rows[0], [dict(zip(rows[0], cells)) for cells in rows[1:]]
    rows = [row for number, row in enumerate(rows) if number not in drop]
    rows = [change({name: as_number(cell) for name, cell in row.items()}) for row in rows]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=ends)
    writer.writerow(head)
    writer.writerows([row[name] for name in head] for row in rows)
    # Many programs replace the file; others write into it.
    fresh = path.with_name(".~saved")
    fresh.write_bytes((mark + out.getvalue()).encode())
    os.replace(fresh, path)


def reworded(row):
    """Somebody tidies up the column `status`."""
    words = {"completed": "Completed ", "running": "enqueued", "failed": "enqueued"}
    return row | {"status": words.get(row["status"], row["status"])}


def saved(step, again, **how):
    """A spreadsheet saves the table while programs work; the person starts again, finds the cure."""

    def tell():
        algos = ("idonly", "blind", "keyed", "free", "idonly", "blind")
        numbers = (*LIKE_NUMBERS, 1, 2)
        with Scene(algos, numbers=numbers) as scene:
            table = scene.workspace / "tables/generations.csv"
            scene.hold(step)
            guard = scene.start("--max-parallel", "3")
            scene.wait_held(step, 3)
            time.sleep(0.1)
            spreadsheet(table, **how)
            if again:
                scene.kill(guard, "worker")
            scene.release()
            ran = bench.finish(guard)
            scene.mend(ran=ran)
            scene.run("--only-status", "enqueued,running,failed", "--max-parallel", "2")
            name = f"saved-{step}-{again}"
            spoilt = bills.judge(scene, endings=("completed", "failed", "enqueued", None))
            wrong = [f"before the table is made again: {line}" for line in spoilt]
            ran = bench.run(["registry", "rebuild", "--workspace", str(scene.workspace)])
            if ran.code != 0:
                wrong.append(f"registry rebuild ended with {ran.code}: {ran.err[-300:]}")
            scene.mend()
            wrong += twice(table)
            return wrong + scene.judge(name)

    return tell


def twice(table):
    """Returns what is wrong if a row stands beside its mangled copy."""
    rows = list(csv.DictReader(io.StringIO(table.read_bytes().decode("utf-8-sig"), newline="")))
    found = [row["job_id"] for row in rows if row["run_id"] == "r"]
    return [] if len(found) == 6 else [f"the table has {len(found)} rows for 6 jobs: {found}"]


# --- ledger and journals ----------------------------------------------------------------------


def harm(path, how, older):
    """Does to a file what tidying, a full disk or a restored backup does."""
    if how == "deleted":
        path.unlink()
    elif how == "cut":
        raw = path.read_bytes()
        path.write_bytes(raw[: len(raw) // 2])
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "older":
        shutil.copyfile(older, path)
    else:
        # As rsync does: the same words in another file.
        fresh = path.with_name(".fresh")
        shutil.copyfile(path, fresh)
        os.replace(fresh, path)


def ledger_harmed(how):
    """Three of six jobs are allowed; the ledger is harmed when two are paid for and one is about to be."""

    def tell():
        cap = 3 * PRICE + 0.1
        budget = ("--budget-usd", f"{cap:.2f}")
        with Scene(("idonly", "idonly", "keyed", "blind", "idonly", "keyed")) as scene:
            path, older = scene.workspace / "tables/budget.jsonl", scene.outside / "older"
            scene.hold("buying")
            guard = scene.start("--max-parallel", "1", *budget)
            scene.wait_held("buying", 1)
            shutil.copyfile(path, older)
            for number in (1, 2):
                scene.hold("making")
                scene.release("buying")
                scene.wait_held("making", number)
                scene.hold("buying")
                scene.release("making")
                scene.wait_held("buying", number + 1)
            harm(path, how, older)
            scene.release()
            ran = bench.finish(guard)
            for _ in range(2):
                scene.run("--only-status", "enqueued,running", *budget)
            wrong = [] if ran.code in (1, 3, 4) else [f"the worker ended with {ran.code}"]
            endings = ("completed", "enqueued", "failed")
            return wrong + scene.judge(f"ledger-{how}", cap=cap, endings=endings)

    return tell


def journal_harmed(how):
    """The journal of a live worker is harmed; another worker starts beside it."""

    def tell():
        with Scene(("rerun", "idonly", "keyed", "free")) as scene:
            scene.hold("submitted")
            scene.hold("bought")
            guard = scene.start("--max-parallel", "4")
            scene.wait_held("bought", 3)
            folder = scene.workspace / "runs/r/state/journal"
            path = next(folder.glob("*.jsonl"))
            older = scene.outside / "older"
            older.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n")
            harm(path, how, older)
            beside = scene.start("--only-status", "enqueued,running", "--max-parallel", "4")
            bench.wait_for(lambda: beside.poll() is not None, 1.5)
            scene.release()
            for process in (beside, guard):
                bench.finish(process)
            scene.mend()
            return scene.judge(f"journal-{how}", endings=("completed",))

    return tell


# --- rehearsals, caps -------------------------------------------------------------------------


def rehearsed(*options):
    """Jobs that may have been billed, failed or wait are rehearsed; a real run follows."""

    def tell():
        algos = ("idonly", "blind", "warned", "keyed", "free", "idonly")
        with Scene(algos) as scene:
            scene.hold("bought")
            guard = scene.start("--max-parallel", "5")
            scene.wait_held("bought", 4)
            scene.kill(guard, "worker")
            bench.finish(guard)
            scene.release()
            scene.run("--dry-run", *options)
            scene.mend()
            scene.run("--dry-run", *options)
            scene.run("--max-parallel", "2")
            scene.run("--dry-run", "--redo", *options)
            scene.mend()
            return scene.judge(f"rehearsed-{len(options)}")

    return tell


def capped_reruns():
    """Who pays twice after crashes does so under the cap."""
    cap = 3 * PRICE + 0.1
    budget = ("--budget-usd", f"{cap:.2f}", "--max-parallel", "2")
    with Scene(("rerun",) * 4) as scene:
        for _ in range(3):
            scene.hold("bought")
            guard = scene.start("--only-status", "enqueued,running", *budget)
            bench.wait_for(lambda: scene.held("bought") or guard.poll() is not None)
            time.sleep(0.1)
            scene.kill(guard, "worker")
            bench.finish(guard)
            scene.release()
            for path in scene.holds.glob("bought.*"):
                path.unlink()
        for _ in range(2):
            scene.run("--only-status", "enqueued,running", *budget)
        allowed = bills.Counter({job: 3 for job in scene.ids})
        endings = ("completed", "enqueued", "running")
        return scene.judge("capped-reruns", cap=cap, allowed=allowed, endings=endings)


def stories():
    found = []
    for step in ("bought", "said"):
        for again in (False, True):
            story = saved(step, again)
            name = f"a spreadsheet saves the table at {step}{', the worker dies' if again else ''}"
            found.append(Story(name, story, again))
    found.append(Story("rows dropped and words changed", saved("making", False, drop=(1, 2), change=reworded)))
    story = saved("making", True, change=reworded, ends="\n")
    found.append(Story("words changed, the worker dies", story, False))
    for how in HARMS:
        found.append(Story(f"the ledger is {how}", ledger_harmed(how), how in ("deleted", "cut", "older")))
        found.append(Story(f"a live journal is {how}", journal_harmed(how), how in ("deleted", "copied")))
    for options in ((), ("--only-status", "failed"), ("--only-status", "enqueued,running,failed")):
        name = f"rehearsals between real runs, {options[-1] if options else 'as they come'}"
        found.append(Story(name, rehearsed(*options), options != ()))
    found.append(Story("reruns in doubt under a cap", capped_reruns))
    return found
