"""An adapter as people write them: a program that buys from the counted provider, makes a model and
says so. It notes outside the workspace what it delivered, synced before it says `result`; `defaults`
says how it behaves.

  shop       host and port of the provider; without one the model is made here, for nothing
  keys, ids, lookup   whether it sends the idempotency key, is given a request id, asks before it buys
  warns      it says beforehand that it may be billed by an error, as programs did before `intent`;
             silent: it says nothing before it buys
  notes      the file for its notes: `made` before it says `result`, `said` after
  hold       a folder: it waits at a step as long as a file of the step's name is there
  linger_s   how long it tidies up after `result`; deaf: it does not hear when asked to end
  size_kb    the size of the model; previews, odd, links, folder, readonly: what it leaves beside it
  hog        a file that takes all room of the disk once the model is made, as long as the folder `hold`
             has a file `hog`; `inodes`: a folder that takes all inodes
"""

import errno
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import time


def main():
    request = json.loads(sys.stdin.readline())
    does = request["defaults"]
    if does.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Program(request, does).work()


def append(path, facts):
    """Appends a line, safe against whatever follows."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(descriptor, json.dumps(facts).encode() + b"\n")
    os.fsync(descriptor)
    os.close(descriptor)


def say(**event):
    os.write(1, json.dumps(event).encode() + b"\n")


def say_and_wait(request, **event):
    """Says that something is about to be bought, or was; from version 2 on it waits until that is noted."""
    say(**event)
    if request["protocol"] >= 2:
        answer = json.loads(sys.stdin.readline() or "{}")
        if answer.get("ack") != event["event"]:
            sys.exit(75)  # Nobody listens any more.


def until_full(step):
    try:
        for number in range(1 << 20):
            step(number)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def model(seed, size):
    """Returns a GLB with one triangle that tells whose it is and has at least `size` bytes."""
    points = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    binary = points + seed.encode() * (max(0, size - 36) // len(seed) + 1)
    binary += b"\0" * (-len(binary) % 4)
    tree = {
        "asset": {"version": "2.0"},
        "extras": {"seed": seed},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "buffers": [{"byteLength": len(binary)}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                       "min": [0, 0, 0], "max": [1, 1, 0]}],
    }
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    length = 12 + 8 + len(text) + 8 + len(binary)
    head = struct.pack("<4sII", b"glTF", 2, length)
    chunks = ((b"JSON", text), (b"BIN\0", binary))
    return head + b"".join(struct.pack("<I4s", len(data), kind) + data for kind, data in chunks)


class Program:
    def __init__(self, request, does):
        self.request, self.does = request, does
        self.job, self.attempt = request["job_id"], request["attempt"]

    def work(self):
        self.hold("started")
        bought = self.buy() if self.does.get("shop") else f"{self.job}-{self.attempt}-{time.time_ns()}"
        time.sleep(self.does.get("sleep_s", 0))
        self.hold("making")
        content = model(bought, self.does.get("size_kb", 1) << 10)
        self.save("model.glb", content)
        previews = self.extras()
        self.sync(".")
        digest = hashlib.sha256(content).hexdigest()
        facts = {"job": self.job, "attempt": self.attempt, "id": bought, "sha": digest, "size": len(content)}
        append(self.does["notes"], {"note": "made", **facts})
        self.hold("made")
        self.take_all_room()
        say(event="result", success=True, generated_glb="model.glb", previews=previews,
            algo_version="7", unit_price_usd=0.4, estimated_cost_usd=0.4 if self.does.get("shop") else 0,
            price_source="provider", raw_metadata={"sold_as": bought})
        append(self.does["notes"], {"note": "said", **facts})
        self.hold("said")
        until = time.monotonic() + self.does.get("linger_s", 0)
        while time.monotonic() < until:
            time.sleep(0.01)

    def buy(self):
        """Buys as the protocol wants it; returns the id of the purchase."""
        does, request = self.does, self.request
        if request.get("resume_request_id"):
            return self.call(do="fetch", id=request["resume_request_id"])
        key = request["idempotency_key"] if does.get("keys") else None
        if does.get("lookup") and request.get("open_intent"):
            found = self.call(do="find", key=key)
            if found:
                return self.bought(found)
        if does.get("warns"):
            say(event="error", **{"class": "unknown"}, message="whether it was billed is not known")
        elif not does.get("silent"):
            say_and_wait(request, event="intent", correlation=f"{self.job}-{self.attempt}")
        self.hold("buying")
        return self.bought(self.call(do="buy", job=self.job, attempt=self.attempt, key=key))

    def bought(self, identity):
        self.hold("bought")
        if self.does.get("ids"):
            say_and_wait(self.request, event="submitted", request_id=identity, cost_usd=0.4)
            self.hold("submitted")
        return self.call(do="fetch", id=identity)

    def call(self, **words):
        host, port = self.does["shop"]
        with socket.create_connection((host, port), timeout=30) as line:
            line.sendall(json.dumps(words).encode() + b"\n")
            return json.loads(line.makefile().readline())["id"]

    def save(self, name, content):
        with open(name, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def sync(self, folder):
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    def extras(self):
        """Leaves beside the model what programs leave; returns its previews."""
        does, previews = self.does, []
        for number in range(does.get("previews", 0)):
            self.save(f"view {number}.png", b"\x89PNG\r\n\x1a\n" + bytes([number]))
            previews.append(f"view {number}.png")
        if does.get("odd"):
            self.save(b"caf\xe9-\xff.bin", b"odd")
            self.save("a\nb.txt", b"odd")
            previews += previews[:1]
        if does.get("folder"):
            os.makedirs("work/deep", exist_ok=True)
            self.save("work/deep/log.txt", b"text")
        if does.get("links"):
            os.symlink("model.glb", "latest.glb")
            os.link("model.glb", "again.glb")
        if does.get("readonly"):
            for folder in ("work/deep", "work", "."):
                if os.path.isdir(folder):
                    os.chmod(folder, 0o555)
        return previews

    def take_all_room(self):
        hog = self.does.get("hog")
        if not hog or not os.path.exists(f"{self.does['hold']}/hog"):
            return
        if self.does.get("inodes"):
            os.makedirs(hog, exist_ok=True)
            until_full(lambda number: os.close(os.open(f"{hog}/{number}", os.O_CREAT | os.O_WRONLY)))
            return
        with open(hog, "ab", buffering=0) as file:
            # What is synced frees what was reserved for it, so once is not enough.
            for size in (1 << 16, 1 << 12, 1 << 9):
                until_full(lambda _: file.write(b"\0" * size))
                os.fsync(file.fileno())

    def hold(self, step):
        """Waits here as long as somebody wants it to; tells that it does."""
        folder = self.does.get("hold")
        if not folder or not os.path.exists(f"{folder}/{step}"):
            return
        with open(f"{folder}/{step}.{self.job}.{os.getpid()}", "w", encoding="ascii"):
            pass
        while os.path.exists(f"{folder}/{step}"):
            time.sleep(0.005)


if __name__ == "__main__":
    main()
