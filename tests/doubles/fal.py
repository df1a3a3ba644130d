"""A double of fal: queue, storage, CDN and platform API on one port.

What is documented nowhere is this double's own choice: the body of an expired result (404), the
result of a cancelled request (499), the body of a 429, and the history, which lists a request once
it has started and `history_s` later.
"""

import base64
import json
import time
import uuid
from datetime import datetime, timezone

from base import Answer, Double

UNITS = "X-Fal-Billable-Units"


def iso(at):
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def strangers(control, name, payload, at):
    """Returns what other programs bought in the meantime."""
    number = control.get("strangers", 0)
    return [{name: f"stranger-{i}", payload: {"image": "https://a.example/b.png"}, at: iso(time.time())}
            for i in range(number)]


def app_of(endpoint):
    words = endpoint.split("/")
    return "/".join(words[: 3 if words[0] in ("workflows", "comfy") else 2])


class Fal(Double):
    service = "fal"
    scheme = "Key"

    def __init__(self, arguments):
        super().__init__(arguments)
        self.uploads = {}

    def name_of(self, method, path):
        if path.startswith("/storage/auth/token"):
            return "token"
        if path == "/files/upload" and method == "POST":
            return "cdn_upload"
        if path.startswith("/storage/upload/initiate"):
            return "initiate"
        if path.startswith("/presigned/"):
            return "put"
        if path.startswith("/files/"):
            return "cdn"
        if path.endswith("/models/requests/by-endpoint"):
            return "history"
        if path.endswith("/models/pricing"):
            return "pricing"
        if path.endswith("/models"):
            return "models"
        if "/requests/" in path:
            last = path.rsplit("/", 1)[1]
            return last if last in ("status", "cancel") else "result"
        return "submit" if method == "POST" else "unknown"

    def handle(self, handler, call, method, path, query, body):
        if call == "put":
            return self.put(handler, path, body)
        if call == "cdn":
            return self.serve_file(handler, path)
        if call == "cdn_upload":
            url = self.publish(handler.headers.get("X-Fal-File-Name", "file"), body, "image/png")
            return Answer(200, {"access_url": url})
        if call == "models":
            return self.models(query)
        if not self.is_allowed(handler):
            return Answer(401, {"detail": "invalid key credentials"})
        return getattr(self, call)(handler, path, query, body)

    def unknown(self, *_):
        return Answer(404, {"detail": "Not Found"})

    # --- storage -------------------------------------------------------------------------------
    def token(self, *_):
        return Answer(200, {"token": "t", "token_type": "Bearer", "base_url": "https://v3.fal.media",
                            "expires_at": iso(time.time() + 3600)})

    def initiate(self, handler, path, query, body):
        asked = json.loads(body)
        name, mark = asked["file_name"], uuid.uuid4().hex
        name.encode("ascii")
        self.uploads[mark] = (name, asked["content_type"])
        place = f"/files/b/{mark[:8]}/{mark[8:]}_{name}"
        return Answer(200, {"upload_url": f"{self.base}/presigned/{mark}?X-Amz-Signature={mark[::-1]}",
                            "file_url": f"{self.base}{place}"})

    def put(self, handler, path, body):
        if handler.headers.get("Authorization"):
            self.write("leak", path=path)
        mark = path.rsplit("/", 1)[1]
        if mark not in self.uploads:
            return Answer(403, b"<Error>AccessDenied</Error>", kind="application/xml")
        name, kind = self.uploads[mark]
        if handler.headers.get("Content-Type") != kind:
            return Answer(403, b"<Error>SignatureDoesNotMatch</Error>", kind="application/xml")
        self.files[f"/files/b/{mark[:8]}/{mark[8:]}_{name}"] = (body, kind)
        return Answer(200, b"", kind="text/plain")

    # --- queue ---------------------------------------------------------------------------------
    def submit(self, handler, path, query, body):
        endpoint = path.strip("/")
        if endpoint.count("/") < 1 or endpoint.startswith("nobody/"):
            return Answer(404, {"detail": f'Application "{endpoint}" not found'})
        try:
            payload = json.loads(body)
        except ValueError:
            return Answer(422, {"detail": [{"loc": ["body"], "msg": "no JSON", "type": "json_invalid"}]})
        request = self.accept(payload, str(uuid.uuid4()), endpoint=endpoint,
                              tags=handler.headers.get("X-Fal-Tags", ""),
                              fallback=handler.headers.get("x-app-fal-disable-fallback", ""))
        request.endpoint = endpoint
        base = f"{self.base}/{app_of(endpoint)}/requests/{request.id}"
        return Answer(200, {"status": "IN_QUEUE", "request_id": request.id, "response_url": base,
                            "status_url": f"{base}/status", "cancel_url": f"{base}/cancel", "logs": None,
                            "metrics": {}, "queue_position": 0}, {"x-fal-request-id": request.id})

    def of(self, path):
        request_id = path.split("/requests/")[1].split("/")[0]
        request = self.requests.get(request_id)
        if request and path.strip("/").split("/requests/")[0] in (
            app_of(request.endpoint), request.endpoint,
        ):
            return request
        return None

    def status(self, handler, path, query, body):
        request = self.of(path)
        if request is None or request.outcome == "expired_all" and request.phase() == "done":
            return Answer(404, {"status": "NOT_FOUND"})
        phase = request.phase()
        if phase == "queued":
            return Answer(202, {"status": "IN_QUEUE", "request_id": request.id, "queue_position": 2})
        logs = [{"message": "sampling", "timestamp": iso(time.time()), "level": "INFO", "source": "x"}]
        if phase == "running":
            return Answer(202, {"status": "IN_PROGRESS", "request_id": request.id, "logs": logs})
        answer = {"status": "COMPLETED", "request_id": request.id, "logs": logs,
                  "metrics": {"inference_time": 0.1}}
        if request.cancelled:
            answer.update(error="Request was cancelled", error_type="client_cancelled")
        elif request.outcome == "runner_lost":
            answer.update(error="Runner disconnected", error_type="runner_disconnected")
        elif request.outcome == "bad_request":
            answer.update(error="no such option", error_type="bad_request")
        elif request.outcome == "timeout":
            answer.update(error="Request timed out", error_type="request_timeout")
        return Answer(200, answer)

    def result(self, handler, path, query, body):
        request = self.of(path[: -len("/response")] if path.endswith("/response") else path)
        if request is None or request.phase() == "done" and request.outcome in ("expired", "expired_all"):
            return Answer(404, {"detail": "Request not found"})
        if request.phase() != "done":
            return Answer(400, {"detail": "Request is still in progress"})
        return self.ending(request)

    def ending(self, request):
        mine = {"x-fal-request-id": request.id}
        if request.cancelled:
            return Answer(499, {"detail": "Request was cancelled", "error_type": "client_cancelled"}, mine)

        def model_error(status, kind, text, more=None):
            detail = [{"loc": ["body", "image_url"], "msg": text, "type": kind, "ctx": {}, "input": "x"}]
            return Answer(status, {"detail": detail}, {**mine, **(more or {})})

        def request_error(status, kind, text):
            return Answer(status, {"detail": text, "error_type": kind}, {**mine, "X-Fal-Error-Type": kind})

        failures = {
            "validation": lambda: model_error(422, "image_load_error", "Failed to load the image"),
            "policy": lambda: model_error(422, "content_policy_violation", "refused by policy"),
            "billed_422": lambda: model_error(422, "no_media_generated", "nothing came", {UNITS: "1"}),
            "downstream": lambda: model_error(400, "downstream_service_error", "a service of ours failed"),
            "server_error": lambda: model_error(500, "internal_server_error", "the model crashed"),
            "generation_timeout": lambda: model_error(504, "generation_timeout", "took too long"),
            "runner_lost": lambda: request_error(503, "runner_disconnected", "Runner disconnected"),
            "timeout": lambda: request_error(504, "request_timeout", "Request timed out"),
        }
        if request.outcome in failures:
            return failures[request.outcome]()
        return Answer(200, self.output(request), {**mine, UNITS: str(self.control().get("units", 1))})

    def output(self, request):
        if not hasattr(request, "made"):
            body = self.made(request)
            url = self.publish("model.glb", body)
            if request.outcome == "gone_file":
                url += "x"
            file = {"url": url, "content_type": "model/gltf-binary", "file_name": "model.glb",
                    "file_size": len(body)}
            preview = self.publish("render.png", PIXEL, "image/png")
            field = self.control().get("field", "model_mesh")
            request.made = {field: file, "rendered_image": {"url": preview}, "seed": 7}
            if field == "model_meshes":
                # Rodin: every format that was asked for, the wanted one anywhere.
                other = {"url": self.publish("model.obj", b"v 0 0 0\n"), "file_name": "model.obj"}
                request.made[field] = [other, file]
            for name in self.control().get("gone_fields", []):
                request.made[name] = {"url": f"{self.base}/files/b/00000000/gone_model.glb"}
            if request.outcome == "no_mesh":
                request.made = {"seed": 7}
        return request.made

    def cancel(self, handler, path, query, body):
        request = self.of(path[: -len("/cancel")])
        if request is None:
            return Answer(404, {"status": "NOT_FOUND"})
        phase = request.phase()
        if phase == "done":
            return Answer(400, {"status": "ALREADY_COMPLETED"})
        self.write("cancel", id=request.id, phase=phase)
        if phase == "running":
            return Answer(202, {"status": "CANCELLATION_REQUESTED"})
        request.cancelled = True
        return Answer(200, {"status": "OK"})

    # --- platform API --------------------------------------------------------------------------
    def history(self, handler, path, query, body):
        endpoint = query["endpoint_id"][0]
        wanted = query.get("request_id", [None])[0]
        late = self.control().get("history_s", 0.2)
        if self.control().get("history") == "empty":
            return Answer(200, {"items": [], "next_cursor": None, "has_more": False})
        start = query.get("start", [""])[0]
        listed = [r for r in self.requests.values()
                  if r.endpoint == endpoint and time.time() >= r.started + late
                  and r.outcome != "expired_all"
                  and (wanted is None or r.id == wanted) and iso(r.accepted) >= start]
        listed.sort(key=lambda r: -r.accepted)
        offset, limit = int(query.get("cursor", ["0"])[0]), int(query.get("limit", ["50"])[0])
        limit = min(limit, self.control().get("page", 100))
        items = [self.item(r, "payloads" in query.get("expand", [])) for r in listed]
        if wanted is None:
            items = strangers(self.control(), "request_id", "json_input", "sent_at") + items
        more, how = offset + limit < len(items), self.control().get("list")
        page = {"items": items[offset : offset + limit], "has_more": more,
                "next_cursor": str(offset + limit) if more else None}
        if how == "no_input":
            for item in page["items"]:
                item.pop("json_input", None)
        elif how == "null_cursor":
            page.update(has_more=True, next_cursor=None)
        elif how == "number":
            page.update(next_cursor=offset + limit)
        elif how == "no_has_more":
            page.pop("has_more")
        elif how == "loop":
            page.update(has_more=True, next_cursor="0")
        return Answer(200, page)

    def item(self, request, payloads):
        done = request.phase() == "done"
        item = {"request_id": request.id, "endpoint_id": request.endpoint, "sent_at": iso(request.accepted),
                "started_at": iso(request.started), "ended_at": iso(request.ended) if done else None,
                "status_code": self.ending(request).status if done else None, "duration": 0.1}
        if payloads:
            item["json_input"] = request.payload
            item["json_output"] = json.loads(self.ending(request).body) if done else None
        return item

    def pricing(self, handler, path, query, body):
        names = [name for value in query["endpoint_id"] for name in value.split(",")]
        self.write("priced", ids=len(names))
        known = self.control().get("prices", {})
        if len(names) > 50:
            return Answer(422, {"error": {"type": "validation_error", "message": "at most 50 ids"}})
        strangers = [name for name in names if known.get(name, 0.02) is None]
        if strangers:
            return Answer(404, {"error": {"type": "not_found", "message": f"no endpoint {strangers}"}})
        prices = []
        for name in names:
            price = {"endpoint_id": name, "unit_price": 0.02, "unit": "generations", "currency": "USD"}
            said = known.get(name, 0.02)
            price.update(said if isinstance(said, dict) else {"unit_price": said})
            prices.append(price)
        offset, limit = int(query.get("cursor", ["0"])[0]), self.control().get("page", 100)
        more = offset + limit < len(prices)
        return Answer(200, {"prices": prices[offset : offset + limit], "has_more": more,
                            "next_cursor": str(offset + limit) if more else None})

    def models(self, query):
        known = self.control().get("models", {})
        models = []
        for name in query.get("endpoint_id", []):
            about = known.get(name, {})
            if about is None:
                continue
            fields = about.get("fields", ["image_url", "texture_size", "seed"])
            required = about.get("required", ["image_url"])
            schema = {"type": "object", "properties": {f: {"type": "string"} for f in fields}, "required": required}
            model = {"endpoint_id": name, "metadata": {"status": about.get("status", "active")}}
            if "openapi-3.0" in query.get("expand", []):
                body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Input"}}}}
                model["openapi"] = {"paths": {"/" + name: {"post": {"requestBody": body}}},
                                    "components": {"schemas": {"Input": schema}}}
            models.append(model)
        return Answer(200, {"models": models, "next_cursor": None, "has_more": False})


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
