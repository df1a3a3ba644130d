"""The shipped queue client, which can be stopped at its own steps and repeats its key.

As long as $HOLD has a file of a step's name, the client stops there and leaves `STEP.JOB`:
`start` before a submission, `answered` and `submitted` before and after the purchase is said,
`written` and `result` before and after the result is said.
"""

import os
import pathlib
import sys
import time

sys.path.insert(0, os.environ["ARCHI3D_WORKSPACE"] + "/adapters")
os.environ["PROVIDER_KEY"] = os.environ["FAKE_KEY"]

sys.dont_write_bytecode = True
import queue_client

shipped_say, shipped_call = queue_client.say, queue_client.call


def hold(step):
    folder = pathlib.Path(os.environ["HOLD"])
    if (folder / step).exists():
        (folder / f"{step}.{os.environ['ARCHI3D_JOB_ID']}").touch()
    while (folder / step).exists():
        time.sleep(0.01)


def say(event, **fields):
    before = {"submitted": "answered", "result": "written"}
    if event in before:
        hold(before[event])
    shipped_say(event, **fields)
    if event in before:
        hold(event)


def call(path, body=None, headers=None):
    if body is not None:
        hold("start")
    return shipped_call(path, body, headers)


queue_client.say, queue_client.call = say, call
print("called with", os.environ["FAKE_KEY"], file=sys.stderr, flush=True)
queue_client.main()
