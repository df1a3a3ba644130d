"""Upserts the registry in a loop the way the Python tools do, until a file says stop.

usage: upsert_loop.py REGISTRY STOP_FILE NAME

Every round, under FileLock(generations.lock): reads the whole table as text, counts up the
`notes` cell of its own row, appends one row, and replaces the table in one rename. Prints one
JSON object: rounds, the longest wait for the lock in seconds, and what went wrong.
"""

import json
import os
import random
import sys
import time

import pandas
from filelock import FileLock


def upsert(registry, name, number):
    table = pandas.read_csv(
        registry, dtype=str, keep_default_na=False, encoding="utf-8-sig"
    )
    own = (table["run_id"] == "python") & (table["job_id"] == name)
    found = table.loc[own, "notes"].tolist()
    expected = [str(number - 1)] if number > 1 else []
    if found != expected:
        raise RuntimeError(f"{name}: found {found} instead of {expected}")
    if number == 1:
        table = append(table, name, "1")
    else:
        table.loc[own, "notes"] = str(number)
    table = append(table, f"{name}-{number}", "kept")
    temporary = f"{registry}.{name}.tmp"
    table.to_csv(temporary, index=False, encoding="utf-8-sig")
    os.replace(temporary, registry)


def append(table, job, notes):
    row = {column: "" for column in table.columns}
    row.update(run_id="python", job_id=job, status="enqueued", notes=notes)
    return pandas.concat([table, pandas.DataFrame([row])], ignore_index=True)


def main():
    registry, stop, name = sys.argv[1:]
    lock = FileLock(os.path.join(os.path.dirname(registry), "generations.lock"))
    pause = random.Random(name)
    rounds, longest, errors = 0, 0.0, []
    while not os.path.exists(stop) and not errors:
        started = time.monotonic()
        try:
            with lock.acquire(timeout=10):
                longest = max(longest, time.monotonic() - started)
                upsert(registry, name, rounds + 1)
                rounds += 1
        except Exception as error:
            errors.append(repr(error))
        time.sleep(pause.uniform(0.05, 0.15))
    print(json.dumps({"rounds": rounds, "longest_wait_s": longest, "errors": errors}))


main()
