"""A fleet whose machines share nothing but a database and a bucket: each worker has a folder of its own, some of which are
lost with it, and between them and the bucket stands somebody who refuses, is slow, or cuts."""

import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

from . import bench, fleet


class Gate:
    """Stands between workers and the bucket. `mood` is what it does with each request's connection."""

    def __init__(self, address):
        host, port = address.removeprefix("http://").split(":")
        self.behind = (host, int(port))
        self.mood, self.refused, self.cuts = "open", 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=fleet.quietly, args=(lambda: self.carry(client),), daemon=True).start()

    def carry(self, client):
        server = socket.create_connection(self.behind)
        threading.Thread(target=fleet.quietly, args=(lambda: self.down(server, client),), daemon=True).start()
        while data := fleet.receive(client):
            mood = self.mood
            if mood in ("503", "403"):
                self.refused += 1
                words = {"503": "503 Slow Down", "403": "403 Forbidden"}[mood]
                code = {"503": "SlowDown", "403": "AccessDenied"}[mood]
                body = f"<Error><Code>{code}</Code><Message>no</Message></Error>"
                client.sendall(f"HTTP/1.1 {words}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
                break
            if mood == "cut" and random.random() < 0.2:
                self.cuts += 1
                break
            self.trickle(server, data)
        fleet.close(client, server)

    def down(self, server, client):
        while data := fleet.receive(server):
            if self.mood == "cut" and random.random() < 0.1:
                self.cuts += 1
                break
            self.trickle(client, data)
        fleet.close(client, server)

    def trickle(self, to, data):
        if self.mood == "slow":
            time.sleep(len(data) / 1_500_000)
        to.sendall(data)

    def close(self):
        self.listener.close()


class Run(fleet.Run):
    """A run of which only the one who pushed has a workspace."""

    def __init__(self, server, name, jobs, **how):
        self.prefix = f"{name}-{os.getpid()}"
        self.behind = os.environ["ARCHI3D_TEST_S3"]
        self.gate = Gate(self.behind)
        self.place = f"s3://archi3d/{self.prefix}"
        self.lost_folders, self.kept = 0, []
        super().__init__(server, name, jobs, **how)

    def environment(self, url=None, clock=None):
        kept = super().environment(url, clock)
        kept["AWS_ENDPOINT_URL"] = self.gate.address
        kept["ARCHI3D_ARTIFACTS"] = self.place
        return kept

    def prepare(self):
        """A picture that takes a while to arrive."""
        (self.workspace / bench.IMAGE).write_bytes(random.randbytes(1_500_000))

    def kind(self, options):
        """Workers of all runs, as pods are; a person's wish is carried out by a worker of the run."""
        return super().kind(options) if "--only-status" in options else ["fleet", "worker", "--until-idle", str(3 * self.lease)]

    def worker(self, *options, url=None, clock=None):
        folder = random.choice(self.kept) if self.kept and random.random() < 0.7 else None
        if folder is None or any(getattr(one, "folder", None) == folder for one in self.workers):
            folder = self.folder / f"machine-{self.started}"
            (folder / "config").mkdir(parents=True)
            shutil.copy(self.workspace / "config" / "adapters.yaml", folder / "config")
            self.kept.append(folder)
        workspace, self.workspace = self.workspace, folder
        try:
            process = super().worker(*options, url=url, clock=clock)
        finally:
            self.workspace = workspace
        process.folder = folder
        return process

    def kill(self, process):
        super().kill(process)
        if random.random() < 0.2:
            # The machine is gone with all that was on it.
            self.kept.remove(process.folder)
            shutil.rmtree(process.folder, ignore_errors=True)
            self.lost_folders += 1

    def blobs(self):
        found, more = {}, ""
        while True:
            query = f"{self.behind}/archi3d?list-type=2&prefix={self.prefix}/{more}"
            with urllib.request.urlopen(query) as answer:
                listed = ElementTree.fromstring(answer.read())
            space = listed.tag.partition("}")[0] + "}"
            for one in listed.iter(f"{space}Contents"):
                key = one.find(f"{space}Key").text.removeprefix(f"{self.prefix}/")
                found[key] = int(one.find(f"{space}Size").text)
            token = listed.find(f"{space}NextContinuationToken")
            if token is None:
                return found
            more = "&continuation-token=" + urllib.request.quote(token.text)

    def judge_files(self):
        """Everything comes back as it was recorded, and what nothing refers to goes."""
        self.gate.mood = "open"
        super().judge_files()
        sums = self.server.ask(
            "SELECT s.job_id || '/' || f.name || ' ' || encode(f.sha256, 'hex') FROM archi3d.artifacts f "
            "JOIN archi3d.job_specs s USING (job_no) JOIN archi3d.results r ON r.job_no = f.job_no AND r.number = f.number",
            self.database)
        self.verified = 0
        for line in sums.splitlines():
            name, wanted = line.rsplit(" ", 1)
            path = self.workspace / "runs" / "r" / "outputs" / name
            have = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "nothing"
            if have != wanted:
                self.wrong.append(f"LOST: {name} is {have} instead of {wanted}")
            self.verified += 1
        before = self.blobs()
        prune, silent = ("fleet", "prune", "--grace", "0d", "--json"), time.monotonic() + 30
        # Who was killed a moment ago counts as being at work until it was silent for long enough.
        while time.monotonic() < silent and "workers are at work" in (ran := self.do(*prune, code=None)).stderr:
            time.sleep(0.2)
        if ran.returncode != 0:
            self.wrong.append(f"`fleet prune` ended with {ran.returncode}: {ran.stderr[-400:]}")
        pruned = json.loads(ran.stdout or "{}")
        after = self.blobs()
        named = set(self.server.ask(
            "SELECT encode(sha256, 'hex') FROM archi3d.artifacts UNION SELECT x->>'sha256' FROM archi3d.job_specs, "
            "json_array_elements(payload->'images') x", self.database).split())
        there = {key.removeprefix("blobs/sha256/").replace("/", "") for key in after if key.startswith("blobs/")}
        if there != named:
            self.wrong.append(f"the bucket has {len(there - named)} files that nothing refers to and LOST {len(named - there)}")
        if any(key.startswith("probes/") for key in after):
            self.wrong.append("files of a trial are left")
        self.pruned = (len(before) - len(after), pruned.get("blobs"))

    def figures(self, doubts):
        return {
            **super().figures(doubts), "files verified": self.verified, "pruned": self.pruned[0],
            "machines lost": self.lost_folders, "requests refused": self.gate.refused, "cut": self.gate.cuts,
        }
