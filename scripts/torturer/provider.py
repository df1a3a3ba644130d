"""A provider that counts: it sells models over a socket and writes every step into its ledger, synced,
before it answers. The ledger is the bill; what the program says about money is held against it.

One JSON object a line, one line a call:

    {"do": "buy", "job": …, "attempt": …, "key": …}   → {"id": …}; a key that it honours buys once
    {"do": "find", "key": …}                          → {"id": … or null}
    {"do": "fetch", "id": …}                          → {"id": …}; the model is made from its id
"""

import json
import os
import socketserver
import threading
from pathlib import Path

PRICE = 0.4


class Provider:
    """Lives in the harness, so it goes on when a customer dies in the middle of a call."""

    def __init__(self, folder):
        self.ledger = Path(folder) / "provider.jsonl"
        self.lock, self.by_key, self.sold = threading.Lock(), {}, 0
        self.file = os.open(self.ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        provider = self

        class Call(socketserver.StreamRequestHandler):
            def handle(self):
                try:
                    call = json.loads(self.rfile.readline() or b"null")
                    if call:
                        self.wfile.write(json.dumps(provider.answer(call)).encode() + b"\n")
                except (OSError, ValueError):
                    pass  # The customer died; what was charged stays charged.

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Call)
        self.server.daemon_threads = True
        self.address = self.server.server_address
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        os.close(self.file)

    def write(self, what, **facts):
        os.write(self.file, json.dumps({"what": what, **facts}).encode() + b"\n")
        os.fsync(self.file)

    def answer(self, call):
        with self.lock:
            if call["do"] == "find":
                return {"id": self.by_key.get(call["key"])}
            if call["do"] == "fetch":
                self.write("delivered", id=call["id"])
                return {"id": call["id"]}
            job, key = call["job"], call.get("key")
            self.write("accepted", job=job, attempt=call["attempt"], key=key)
            if key and key in self.by_key:
                return {"id": self.by_key[key]}
            self.sold += 1
            bought = f"req-{job}-{self.sold}"
            self.write("charged", id=bought, job=job, attempt=call["attempt"], usd=PRICE)
            if key:
                self.by_key[key] = bought
            return {"id": bought}

    def charges(self):
        """Returns what is on the bill, in order."""
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [line for line in lines if line["what"] == "charged"]
