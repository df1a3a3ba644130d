"""Doubles of Tripo (v3), Meshy and Replicate. None of them knows a key for an order."""

import json
import time
import uuid
from datetime import datetime, timezone

from base import Answer, Double, form_file
from fal import PIXEL, strangers


def failed(request):
    return request.outcome in ("failed", "billed_failure", "server_error", "banned", "expired_task", "aborted", "canceled")


class Tripo(Double):
    """Signed addresses expire: `links_s` after the task was asked about."""

    service = "tripo"

    def __init__(self, arguments):
        super().__init__(arguments)
        self.tokens = set()
        self.expiry = {}

    def name_of(self, method, path):
        if path.startswith("/files/b/"):
            return "cdn"
        if path.endswith("/files"):
            return "upload"
        if "/generation/" in path:
            return "submit"
        return "poll" if "/tasks/" in path else "unknown"

    def handle(self, handler, call, method, path, query, body):
        if call == "cdn":
            if time.time() > self.expiry.get(path, 0):
                return Answer(403, b"<Error>Request has expired</Error>", kind="application/xml")
            return self.serve_file(handler, path)
        if not self.is_allowed(handler):
            return Answer(401, {"code": 1002, "message": "Authentication failed"})
        return getattr(self, call)(path, body)

    def unknown(self, *_):
        return Answer(404, {"code": 1001, "message": "no such path"})

    def upload(self, path, body):
        field, name, _ = form_file(body)
        if field != "file":
            return Answer(400, {"code": 1004, "message": "field file is missing"})
        token = uuid.uuid4().hex
        self.tokens.add(token)
        return Answer(200, {"code": 0, "data": {"file_token": token}})

    def submit(self, path, body):
        payload = json.loads(body)
        several = path.endswith("/multiview-to-model")
        pictures = payload.get("inputs") if several else [payload.get("input")]
        if not pictures or any(p not in self.tokens for p in pictures if p is not None):
            return Answer(400, {"code": 1004, "message": "a parameter is invalid: input"})
        request = self.accept(payload, uuid.uuid4().hex)
        return Answer(200, {"code": 0, "data": {"task_id": request.id}}, {"X-Tripo-Trace-ID": uuid.uuid4().hex})

    def poll(self, path, body):
        request = self.requests.get(path.rsplit("/", 1)[1])
        if request is None:
            return Answer(404, {"code": 2001, "message": "task not found"})
        word = {"queued": "queued", "running": "running", "done": "success"}[request.phase()]
        task = {"task_id": request.id, "status": word, "progress": 40, "credits_consumed": 0}
        if request.phase() == "done":
            if failed(request):
                task["status"] = {"banned": "banned", "expired_task": "expired"}.get(request.outcome, "failed")
                task["error_message"] = "the model crashed"
                task["credits_consumed"] = 20 if request.outcome == "billed_failure" else 0
            else:
                model = self.publish("model.glb", self.made(request))
                preview = self.publish("render.webp", PIXEL, "image/png")
                late = time.time() + self.control().get("links_s", 60)
                for url in (model, preview):
                    self.expiry[url[len(self.base) :]] = late
                task["output"] = {"model_url": model + "?Expires=9&Signature=abc",
                                  "rendered_image_url": preview + "?Expires=9&Signature=abc"}
                if request.outcome == "no_mesh":
                    task["output"] = {}
                task["credits_consumed"] = self.control().get("credits", 30)
        return Answer(200, {"code": 0, "data": task})


class Meshy(Double):
    service = "meshy"

    def name_of(self, method, path):
        if path.startswith("/files/"):
            return "cdn"
        if method == "POST":
            return "submit"
        return "list" if path.rsplit("/", 1)[1] in ("image-to-3d", "multi-image-to-3d") else "poll"

    def handle(self, handler, call, method, path, query, body):
        if call == "cdn":
            return self.serve_file(handler, path)
        if not self.is_allowed(handler):
            return Answer(401, {"message": "Invalid API key"})
        return getattr(self, call)(path, body)

    def submit(self, path, body):
        payload = json.loads(body)
        several = path.endswith("/multi-image-to-3d")
        pictures = payload.get("image_urls") if several else [payload.get("image_url")]
        fits = pictures and all(
            str(p).startswith(("data:image/png;base64,", "data:image/jpeg;base64,", "https://")) for p in pictures
        )
        if not fits:
            return Answer(400, {"message": "image_url must be jpg or png"})
        request = self.accept({}, str(uuid.uuid4()))
        request.path = path
        return Answer(202, {"result": request.id})

    def task(self, request):
        word = {"queued": "PENDING", "running": "IN_PROGRESS", "done": "SUCCEEDED"}[request.phase()]
        task = {"id": request.id, "status": word, "progress": 30, "created_at": int(request.accepted * 1000),
                "consumed_credits": 0, "task_error": {"message": ""}}
        if request.phase() == "done":
            if failed(request):
                task["status"] = "FAILED"
                task["task_error"] = {"message": "the model crashed"}
            else:
                if not hasattr(request, "urls"):
                    request.urls = (self.publish("model.glb", self.made(request)),
                                    self.publish("preview.png", PIXEL, "image/png"))
                task["model_urls"] = {"glb": request.urls[0]} if request.outcome != "no_mesh" else {}
                task["thumbnail_url"] = request.urls[1]
                task["consumed_credits"] = self.control().get("credits", 30)
        return task

    def poll(self, path, body):
        request = self.requests.get(path.rsplit("/", 1)[1])
        if request is None or request.path != path.rsplit("/", 1)[0]:
            return Answer(404, {"message": "task not found"})
        return Answer(200, self.task(request))

    def list(self, path, body):
        tasks = sorted(self.requests.values(), key=lambda r: -r.accepted)
        return Answer(200, [self.task(r) for r in tasks if r.path == path][:50])


class Replicate(Double):
    service = "replicate"

    def name_of(self, method, path):
        if path.startswith("/files/b/"):
            return "cdn"
        if path.endswith("/files"):
            return "upload"
        if path.endswith("/cancel"):
            return "cancel"
        if path.endswith("/predictions"):
            return "submit" if method == "POST" else "list"
        return "poll"

    def handle(self, handler, call, method, path, query, body):
        if call == "cdn":
            return self.serve_file(handler, path)
        if not self.is_allowed(handler):
            return Answer(401, {"title": "Unauthenticated", "detail": "You did not pass a valid token"})
        return getattr(self, call)(path, query, body)

    def upload(self, path, query, body):
        field, name, _ = form_file(body)
        if field != "content":
            return Answer(400, {"detail": "field content is missing"})
        mark = uuid.uuid4().hex
        return Answer(201, {"id": mark, "name": name, "urls": {"get": f"https://api.replicate.com/v1/files/{mark}"}})

    def submit(self, path, query, body):
        payload = json.loads(body)
        if "/models/" not in path and "version" not in payload:
            return Answer(422, {"detail": "version is required"})
        request = self.accept(payload["input"], uuid.uuid4().hex[:26])
        return Answer(201, self.prediction(request))

    def prediction(self, request):
        word = {"queued": "starting", "running": "processing", "done": "succeeded"}[request.phase()]
        made = {"id": request.id, "status": word, "input": request.payload, "output": None, "error": None,
                "created_at": datetime.fromtimestamp(request.accepted, timezone.utc).isoformat()}
        if request.phase() == "done":
            if request.cancelled:
                made["status"] = "aborted"
            elif failed(request):
                made["status"] = request.outcome if request.outcome in ("aborted", "canceled") else "failed"
                made["error"] = "the model crashed"
            else:
                if not hasattr(request, "made_urls"):
                    request.made_urls = {"mesh": self.publish("model.glb", self.made(request)),
                                         "video": self.publish("turn.mp4", b"x", "video/mp4")}
                shape = self.control().get("shape", "object")
                urls = request.made_urls
                made["output"] = {"object": urls, "text": urls["mesh"], "list": list(urls.values())}[shape]
                if request.outcome in ("no_mesh", "expired"):
                    made["output"] = {} if request.outcome == "no_mesh" else None
        return made

    def poll(self, path, query, body):
        request = self.requests.get(path.rsplit("/", 1)[1])
        if request is None:
            return Answer(404, {"detail": "Not found"})
        return Answer(200, self.prediction(request))

    def list(self, path, query, body):
        offset, page = int(query.get("cursor", ["0"])[0]), self.control().get("page", 100)
        late = self.control().get("history_s", 0.0)
        listed = sorted(self.requests.values(), key=lambda r: -r.accepted)
        listed = [r for r in listed if time.time() >= r.accepted + late]
        items = strangers(self.control(), "id", "input", "created_at") + [self.prediction(r) for r in listed]
        more, how = offset + page < len(items), self.control().get("list")
        for item in items if how in ("no_input", "empty_input") else []:
            item.pop("input") if how == "no_input" else item.update(input={})
        host = {"relative": "", "elsewhere": "https://elsewhere.example"}.get(how, self.base)
        following = f"{host}{path}?cursor={offset + page}" if more else None
        following = {"loop": f"{host}{path}?cursor=0", "number": 7}.get(how, following)
        return Answer(200, {"results": items[offset : offset + page], "next": following, "previous": None})

    def cancel(self, path, query, body):
        request = self.requests.get(path.split("/")[-2])
        if request is None:
            return Answer(404, {"detail": "Not found"})
        self.write("cancel", id=request.id, phase=request.phase())
        if request.phase() == "queued":
            request.cancelled = True
        return Answer(200, self.prediction(request))
