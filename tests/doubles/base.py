"""What the doubles of paid services share: a small HTTP server, a ledger, faults on command.

A ledger is a file of JSON lines: `accepted` for every order that was taken, `failed` and `charged`
for how it ended, `leak` for a key that went where it must not. A line is on disk before the call
that caused it is answered. What happens to a call is in a control file that is read again whenever
it changes:

    {"faults": [{"call": "submit", "nth": [2, 5], "do": "reset_after"},
                {"call": "*", "rate": 0.1, "do": "status:503"}],
     "outcomes": {"3": "server_error"}, "outcome": "ok",
     "queue_s": 0.0, "work_s": 0.05, "history_s": 0.2}

A fault comes before the call takes effect, or after it (`…_after`, and those that spoil only the
answer). `nth` counts the calls of that name from 1, `rate` is the share of calls, `first` the
first so many, `once_per` once for every path.
"""

import gzip
import hashlib
import json
import os
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

HTML = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n"


class Cut(Exception):
    """The connection is to end without an answer."""


class Answer:
    def __init__(self, status, body=None, headers=None, kind="application/json"):
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = dict(headers or {})
        self.headers.setdefault("Content-Type", kind)


class Request:
    """A purchase, from the order to its end."""

    def __init__(self, number, name, payload, outcome, control):
        self.number, self.id, self.payload, self.outcome = number, name, payload, outcome
        self.accepted = time.time()
        self.started = self.accepted + control.get("queue_s", 0.0)
        self.ended = self.started + control.get("work_s", 0.05)
        self.closed = False
        self.cancelled = False

    def phase(self):
        now = time.time()
        if self.cancelled:
            return "done"
        if now < self.started:
            return "queued"
        if now < self.ended or self.outcome == "stuck":
            return "running"
        return "done"


class Double:
    """One service. A subclass says which paths there are and what an order brings."""

    service = "none"
    scheme = "Bearer"

    def __init__(self, arguments):
        self.key = arguments.key
        self.model = open(arguments.model, "rb").read()
        self.ledger_path = arguments.ledger
        self.control_path = arguments.control
        self.hold = arguments.hold
        self.lock = threading.RLock()
        self.counts = {}
        self.seen = set()
        self.requests = {}
        self.files = {}
        self.control_seen = None
        self.control_now = {}
        self.base = ""

    # --- the ledger ------------------------------------------------------------------------------
    def write(self, event, **more):
        line = json.dumps({"event": event, "at": round(time.time(), 6), **more})
        with self.lock:
            with open(self.ledger_path, "a") as ledger:
                ledger.write(line + "\n")
                ledger.flush()
                os.fsync(ledger.fileno())

    def close_ended(self):
        """Writes down how purchases ended that nobody asked about."""
        with self.lock:
            for request in list(self.requests.values()):
                if request.phase() == "done" and not request.closed:
                    request.closed = True
                    if request.cancelled or not self.is_charged(request):
                        self.write("failed", id=request.id, outcome=request.outcome)
                    else:
                        self.write("charged", id=request.id, outcome=request.outcome)

    def is_charged(self, request):
        return request.outcome in (
            "ok", "slow", "billed_422", "billed_failure", "no_mesh", "zip_only", "wrong_bytes", "empty_file", "expired",
            "expired_all", "gone_file",
        )

    def accept(self, payload, name, **more):
        with self.lock:
            number = len(self.requests) + 1
            control = self.control()
            outcome = control.get("outcomes", {}).get(str(number), control.get("outcome", "ok"))
            request = Request(number, name, payload, outcome, control)
            self.requests[name] = request
            self.write("accepted", id=name, number=number, outcome=outcome, **more)
            return request

    # --- control ---------------------------------------------------------------------------------
    def control(self):
        with self.lock:
            try:
                mark = os.stat(self.control_path)
                mark = (mark.st_mtime_ns, mark.st_size, mark.st_ino)
                if mark != self.control_seen:
                    self.control_now = json.load(open(self.control_path))
                    self.control_seen = mark
            except (OSError, ValueError, TypeError):
                pass
            return self.control_now

    def fault(self, call, path):
        """Returns what is to go wrong with this call."""
        with self.lock:
            count = self.counts[call] = self.counts.get(call, 0) + 1
            for index, fault in enumerate(self.control().get("faults", [])):
                if fault["call"] not in (call, "*"):
                    continue
                if "nth" in fault and count not in fault["nth"]:
                    continue
                if "first" in fault and count > fault["first"]:
                    continue
                if "rate" in fault:
                    seed = f"{fault.get('seed', 0)} {index} {call} {count}".encode()
                    if int(hashlib.sha256(seed).hexdigest()[:8], 16) / 2**32 >= fault["rate"]:
                        continue
                if fault.get("once_per"):
                    mark = (index, call, path.split("?")[0])
                    if mark in self.seen:
                        continue
                    self.seen.add(mark)
                return fault["do"]
        return ""

    def wait_at(self, call):
        """Says that a call is here and waits until it may go on."""
        step = os.path.join(self.hold, f"{call}.here")
        open(step, "a").close()
        while os.path.exists(step):
            time.sleep(0.01)

    # --- files that were made --------------------------------------------------------------------
    def publish(self, name, body, kind="model/gltf-binary"):
        mark = hashlib.sha256(f"{name}{time.time_ns()}".encode()).hexdigest()
        path = f"/files/b/{mark[:8]}/{mark[8:16]}_{name}"
        with self.lock:
            self.files[path] = (body, kind)
        return f"{self.base}{path}"

    def made(self, request):
        """Returns the bytes that an outcome brings, or nothing."""
        return {
            "zip_only": b"PK\x03\x04" + b"\0" * 200,
            "wrong_bytes": b"this is no model at all, whatever its name says",
            "empty_file": b"",
        }.get(request.outcome, self.model)

    def serve_file(self, handler, path):
        entry = self.files.get(path)
        if entry is None:
            return Answer(404, b"gone", kind="text/plain")
        if handler.headers.get("Authorization"):
            self.write("leak", path=path)
        body, kind = entry
        etag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        headers = {"ETag": etag, "Accept-Ranges": "bytes"}
        wanted = handler.headers.get("Range", "")
        if wanted.startswith("bytes=") and handler.headers.get("If-Range", etag) == etag:
            start = int(wanted[6:].split("-")[0] or 0)
            if start >= len(body):
                return Answer(416, b"", {"Content-Range": f"bytes */{len(body)}"}, kind)
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            return Answer(206, body[start:], headers, kind)
        return Answer(200, body, headers, kind)

    # --- what a subclass has ---------------------------------------------------------------------
    def name_of(self, method, path):
        raise NotImplementedError

    def handle(self, handler, call, method, path, query, body):
        raise NotImplementedError

    def is_allowed(self, handler):
        return handler.headers.get("Authorization") == f"{self.scheme} {self.key}"


def form_file(body):
    """Returns name and bytes of the one file in a form."""
    head, _, rest = body.partition(b"\r\n\r\n")
    boundary = head.split(b"\r\n", 1)[0]
    name = head.split(b'filename="', 1)[1].split(b'"', 1)[0].decode()
    field = head.split(b'name="', 1)[1].split(b'"', 1)[0].decode()
    return field, name, rest.rsplit(b"\r\n" + boundary, 1)[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    double = None

    def log_message(self, *_):
        pass

    def any(self):
        double, target = self.double, urlsplit(self.path)
        try:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                self.close_connection = True
                return
            if target.path == "/stats":
                double.close_ended()
                self.send(Answer(200, double.counts), "")
                return
            call = double.name_of(self.command, target.path)
            fault = double.fault(call, self.path)
            self.before(fault, call)
            query = {name: values for name, values in parse_qs(target.query).items()}
            answer = double.handle(self, call, self.command, target.path, query, body)
            double.close_ended()
            self.after(fault, call, answer)
        except Cut:
            self.reset()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = any

    def before(self, fault, call):
        word, _, value = fault.partition(":")
        if word == "status":
            self.send(Answer(int(value), HTML, kind="text/html"), "")
            raise BrokenPipeError
        if word == "json":
            self.send(Answer(int(value), {"detail": "Internal Server Error", "message": "try later"}), "")
            raise BrokenPipeError
        if word == "refuse":
            text = "try another time"
            self.send(Answer(int(value), {"detail": text, "message": text, "code": 1004}), "")
            raise BrokenPipeError
        if word == "key":
            self.send(Answer(int(value), {"detail": "key lacks the scope", "code": 1002}), "")
            raise BrokenPipeError
        if word == "retry":
            self.send(Answer(429, {"detail": "busy", "code": 2000}, {"Retry-After": value}), "")
            raise BrokenPipeError
        if word == "credit":
            status, text = (403, "User is locked. Reason: Exhausted balance. Top up your balance.")
            self.send(Answer(status, {"detail": text, "code": 2010, "message": text}), "")
            raise BrokenPipeError
        if word == "code":
            self.send(Answer(200, {"code": int(value), "message": "not now"}, {"Retry-After": "1"}), "")
            raise BrokenPipeError
        if word == "reset":
            raise Cut
        if word == "hang":
            time.sleep(float(value or 30))
            raise Cut
        if word == "delay":
            time.sleep(float(value))
        if word == "hold":
            self.double.wait_at(call)
            if value == "cut":
                raise Cut

    def after(self, fault, call, answer):
        word, _, value = fault.partition(":")
        if word == "status_after":
            answer = Answer(int(value), HTML, kind="text/html")
        elif word == "gzip":
            headers = {**answer.headers, "Content-Encoding": "gzip"}
            answer = Answer(answer.status, gzip.compress(answer.body), headers)
        elif word == "cut_whole":
            answer = Answer(answer.status, answer.body[: len(answer.body) // 2], answer.headers)
        elif word == "redirect_after":
            answer = Answer(307, b"", {"Location": self.path})
        elif word == "reset_after":
            raise Cut
        elif word == "hang_after":
            time.sleep(float(value or 30))
            raise Cut
        elif word == "empty":
            answer = Answer(answer.status, b"", answer.headers)
        elif word == "garbage":
            answer = Answer(answer.status, b'{"status": "IN_QU\xff\xfe', answer.headers)
        elif word == "html":
            answer = Answer(answer.status, HTML, kind="text/html")
        elif word == "hold_after":
            self.double.wait_at(call)
        self.send(answer, fault)

    def send(self, answer, fault):
        word = fault.partition(":")[0]
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        body = answer.body
        if word in ("chunked", "cut_chunk"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            pieces = [body[at : at + 7] for at in range(0, len(body), 7)] or [b""]
            for piece in pieces[: len(pieces) // 2 if word == "cut_chunk" else None]:
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            if word == "cut_chunk":
                raise Cut
            self.wfile.write(b"0\r\n\r\n")
            return
        if word == "no_length":
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if word in ("half", "truncate"):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            raise Cut
        if word == "stall":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            time.sleep(float(fault.partition(":")[2] or 30))
            raise Cut
        if word == "slow":
            for at in range(0, len(body), max(1, len(body) // 10)):
                self.wfile.write(body[at : at + max(1, len(body) // 10)])
                self.wfile.flush()
                time.sleep(0.02)
            return
        self.wfile.write(body)

    def reset(self):
        self.close_connection = True
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # The file objects keep the socket open: shut it now.
            self.rfile.close()
            self.wfile.close()
            self.connection.close()
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass
