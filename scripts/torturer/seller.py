"""An adapter that buys from a counted provider in a folder: every sale is a file and a line of the bill, both on disk before
anybody hears of it. `defaults` says how it behaves.

  shop       the folder: `bill` has a line per sale (job, sale), `sales/` what was sold under each key
  keys       the provider knows a key again: what was bought under it is not bought twice
  work_s     how long a job takes at most
  refuses, fails, lasts   it sells nothing: the job fails for good, may be tried again, or goes on until it is stopped
"""

import json
import os
import random
import struct
import sys
import time
import uuid


def main():
    request = json.loads(sys.stdin.readline())
    does = request["defaults"]
    if does.get("lasts"):
        time.sleep(600)
    for kind, error in (("refuses", "permanent"), ("fails", "transient")):
        if does.get(kind):
            say(event="error", **{"class": error}, message=f"it {kind}")
            return
    sale = request["resume_request_id"] or find(request, does)
    if not sale:
        say_and_wait(event="intent", correlation=request["idempotency_key"])
        sale = buy(request, does)
    say_and_wait(event="submitted", request_id=sale, cost_usd=does["price"])
    time.sleep(random.uniform(0.2, 1) * does["work_s"])
    model = os.path.join(request["out_dir"], "model.glb")
    with open(model, "wb") as out:
        out.write(glb(sale))
    if does.get("big") and random.random() < does["big"]:
        # A file that travels in parts.
        with open(os.path.join(request["out_dir"], "extra.bin"), "wb") as out:
            out.write(random.randbytes(9_000_000))
    result = {"success": True, "generated_glb": "model.glb", "estimated_cost_usd": does["price"]}
    say(event="result", **result)


def say(**event):
    os.write(1, json.dumps(event).encode() + b"\n")


def say_and_wait(**event):
    say(**event)
    answer = json.loads(sys.stdin.readline() or "{}")
    if answer.get("ack") != event["event"]:
        sys.exit(75)  # Nobody listens any more.


def find(request, does):
    """Looks for what an earlier attempt was about to buy."""
    wanted = request.get("open_intent")
    if not wanted or not does["keys"]:
        return None
    try:
        with open(os.path.join(does["shop"], "sales", wanted["correlation"])) as sale:
            return sale.read() or None
    except FileNotFoundError:
        return None


def buy(request, does):
    sale = uuid.uuid4().hex
    if does["keys"]:
        place = os.path.join(does["shop"], "sales", request["idempotency_key"])
        fresh = f"{place}.{sale}"
        with open(fresh, "w") as out:
            out.write(sale)
        try:
            os.link(fresh, place)
        except FileExistsError:
            with open(place) as sold:
                return sold.read()
        finally:
            os.unlink(fresh)
    bill = os.open(os.path.join(does["shop"], "bill"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(bill, f"{request['job_id']} {sale}\n".encode())
    os.close(bill)
    return sale


def glb(sale):
    """A triangle that says which sale it is."""
    points = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    text = json.dumps({
        "asset": {"version": "2.0", "extras": {"sale": sale}},
        "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                       "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"byteLength": 36}],
    }).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", 36, 0x004E4942) + points
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


main()
