"""A tool in Python that changes one cell of the registry all the time, under its lock.

Run as a program: WORKSPACE. Uses `filelock` where it is installed, else flock(2) as that does.
Counts in the notes of a foreign row, and prints how often it has changed the table at the end.
"""

import contextlib
import fcntl
import os
import random
import re
import signal
import sys
import time

try:
    from filelock import FileLock
except ImportError:
    FileLock = None

COUNTER = re.compile(rb"COUNTED:(\d+)")


@contextlib.contextmanager
def locked(path):
    if FileLock is not None:
        with FileLock(path, timeout=60):
            yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def main(workspace):
    table, done, stopped = f"{workspace}/tables/generations.csv", 0, []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    temporary = f"{table}.python"
    while not stopped:
        try:
            with locked(f"{workspace}/tables/generations.lock"):
                with open(table, "rb") as file:
                    raw = file.read()
                raw, found = COUNTER.subn(lambda m: b"COUNTED:%d" % (int(m[1]) + 1), raw)
                if found != 1:
                    print(f"the row is gone: {found}")
                    return 1
                with open(temporary, "wb") as file:
                    file.write(raw)
                os.replace(temporary, table)
                done += 1
        except OSError:
            # The disk is full just now.
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        time.sleep(random.uniform(0.02, 0.3))
    print(done)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
