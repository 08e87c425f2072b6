"""The HTTP side of the fake: routes, paging, scopes, planted answers and the request log."""

from __future__ import annotations

import copy
import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from . import instances
from .query import apply_fields, matches, parse_fields
from .schema import unknown_field
from .script import Answer, Script
from .store import COMPUTE, RefusedError, Resource, Store

BASE = "/compute/v1/"
PAGE = 500
INSTANCE_VERBS = (
    "start",
    "stop",
    "setLabels",
    "setMetadata",
    "setTags",
    "setScheduling",
    "attachDisk",
    "reportHostAsFaulty",
)


@dataclass(frozen=True)
class Request:
    """One line of the request log. Of the credentials it knows only whether there were any."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    authorized: bool

    @property
    def writes(self) -> bool:
        return self.method != "GET" and not self.path.endswith(("/wait", "/testIamPermissions"))


class FakeCompute:
    """A Compute API on loopback: ``with FakeCompute(store) as fake: use(fake.url)``. With ``tls`` it speaks HTTPS."""

    def __init__(
        self, store: Store | None = None, *, port: int = 0, token: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        self.store = store or Store()
        self.script = Script()
        self.token = token  # when set, any other bearer token is answered with 401
        self.log: list[Request] = []
        self.on_request: Callable[[Request, int], None] = lambda _request, _status: None
        self.closing = threading.Event()
        self._pages: dict[tuple[int, str, str], bytes] = {}
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.fake = self
        self._scheme = "https" if tls else "http"
        if tls:  # the handshake is the handler's, so that a client that gives up harms no other
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.log if request.writes]

    def __enter__(self) -> FakeCompute:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> bytes:
        """The ordinary answer to one request."""
        with self.store.lock:
            if request.method == "GET":
                return self._read(request)
            return json.dumps(self._write(request)).encode()

    def _read(self, request: Request) -> bytes:
        path, query = request.path, request.query
        kind, name = _kind(path)
        if "/operations/" in path:
            body = self.store.read_operation(path)
        elif name:
            self.store.tick(path)
            body = self.store.get(path)
        else:
            return self._list(path, kind, query)
        return json.dumps(apply_fields(_mask(query), body)).encode()

    def _list(self, path: str, kind: str, query: dict[str, str]) -> bytes:
        key = (self.store.version, path, json.dumps(query, sort_keys=True))
        if key not in self._pages:
            page = self._aggregated(path, kind, query) if "/aggregated/" in path else self._page(path, kind, query)
            self._pages[key] = json.dumps(apply_fields(_mask(query), page)).encode()
        return self._pages[key]

    def _page(self, path: str, kind: str, query: dict[str, str]) -> Resource:
        parent, zone = path.rsplit("/", 1)[0], path.split("/")[3]
        if parent.count("/") > 3:
            self.store.get(parent)
        if zone in self.store.unreachable_zones and path.split("/")[2] == "zones":
            raise RefusedError(503, "backendError", f"Zone {zone} is currently unavailable")
        if kind == "operations":
            found = [op.body for name, op in self.store.operations.items() if name.startswith(path + "/")]
        else:
            found = list(self.store.children(path))
        items, token = _slice(_filtered(found, query), query)
        return {"kind": f"compute#{kind}List", "selfLink": COMPUTE + path, "items": items, **token}

    def _aggregated(self, path: str, kind: str, query: dict[str, str]) -> Resource:
        project = path.split("/")[1]
        parts = [path.split("/") for path in self.store.resources if path.split("/")[1] == project]
        scopes = sorted({"global" if part[2] == "global" else "/".join(part[2:4]) for part in parts})
        found: list[tuple[str, Resource]] = []
        for scope in scopes:
            if scope.startswith("zones/") and scope[6:] not in self.store.unreachable_zones:
                children = list(self.store.children(f"projects/{project}/{scope}/{kind}"))
                found += [(scope, item) for item in _filtered(children, query)]
        page, token = _slice(found, query)
        items: dict[str, Any] = {}
        for scope, item in page:
            items.setdefault(scope, {kind: []})[kind].append(item)
        for scope in scopes:
            if scope[6:] in self.store.unreachable_zones:
                items[scope] = {"warning": {"code": "UNREACHABLE", "message": f"{scope} could not be reached"}}
            items.setdefault(scope, {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "No results."}})
        bad = [f"zones/{zone}" for zone in sorted(self.store.unreachable_zones)]
        first_page = "pageToken" not in query
        return {"items": items, **token, **({"unreachables": bad} if bad and first_page else {})}

    def _write(self, request: Request) -> Resource:
        if request.path.endswith("/wait"):
            return self.store.read_operation(request.path.removesuffix("/wait"))
        kind, name = _kind(request.path)
        wrong = unknown_field(request.path.rsplit("/", 1)[1] if not name else kind, request.body)
        if wrong:
            raise RefusedError(400, "badRequest", wrong)
        if request.path.endswith("/testIamPermissions"):
            self.store.get(request.path.rsplit("/", 1)[0])
            return {"permissions": [p for p in request.body["permissions"] if p not in self.store.denied_permissions]}
        known = request.query.get("requestId", "")
        if known in self.store.request_ids:
            return dict(self.store.operations[self.store.request_ids[known]].body)
        operation = self._change(request.method, request.path, kind, request.body or {})
        if known:
            self.store.request_ids[known] = operation["selfLink"].removeprefix(COMPUTE)
        return operation

    def _change(self, method: str, path: str, kind: str, body: Resource) -> Resource:
        store, last = self.store, path.rsplit("/", 1)[1]
        if method == "DELETE":
            return instances.delete(store, path) if kind == "instances" else _delete(store, path)
        if method in ("PATCH", "PUT"):
            store.put(path, {**store.get(path), **body})
            return store.start_operation(path, "patch")
        if last in INSTANCE_VERBS:
            return instances.verb(store, path.rsplit("/", 1)[0], last, body)
        if last == "bulkInsert":
            return self._bulk_insert(path.rsplit("/", 1)[0], body)
        if last == "reportFaulty":
            store.get(path.rsplit("/", 1)[0])
            return store.start_operation(path.rsplit("/", 1)[0], "reportFaulty")
        if last == "setLabels":
            holder = store.get(path.rsplit("/", 1)[0])
            store.put(path.rsplit("/", 1)[0], {**holder, "labels": body.get("labels", {})})
            return store.start_operation(path.rsplit("/", 1)[0], "setLabels")
        if last == "resize":
            store.put(path.rsplit("/", 1)[0], {**store.get(path.rsplit("/", 1)[0]), "sizeGb": body["sizeGb"]})
            return store.start_operation(path.rsplit("/", 1)[0], "resize")
        target = f"{path}/{body.get('name', '')}"
        if kind == "instances":
            return instances.insert(store, target, body)
        return _insert(store, target, body)

    def _bulk_insert(self, path: str, body: Resource) -> Resource:
        properties = body["instanceProperties"]
        machine = f"{path.split('/', 2)[2].rsplit('/', 1)[0]}/machineTypes/{properties['machineType']}"
        region = path.split("/")[3].rsplit("-", 1)[0]
        policies = [f"regions/{region}/resourcePolicies/{policy}" for policy in properties.get("resourcePolicies", [])]
        properties = {**properties, "machineType": machine, "resourcePolicies": policies}
        last: Resource = {}
        for name in body["perInstanceProperties"]:
            last = instances.insert(self.store, f"{path}/{name}", {**copy.deepcopy(properties), "name": name})
        return last


def _insert(store: Store, path: str, body: Resource) -> Resource:
    if path in store.resources:
        raise RefusedError(409, "alreadyExists", f"The resource '{path}' already exists")
    status = {"status": "READY"} if "/disks/" in path or "/images/" in path or "/resourcePolicies/" in path else {}
    store.put(path, {**body, **status})
    return store.start_operation(path, "insert", undo=lambda: store.drop(path))


def _delete(store: Store, path: str) -> Resource:
    store.get(path)
    users = [other for other, body in store.resources.items() if other != path and f'{path}"' in json.dumps(body)]
    if users:
        raise RefusedError(
            400,
            "resourceInUseByAnotherResource",
            f"The resource '{path}' is already being used by '{users[0]}'",
        )
    return store.start_operation(path, "delete", finish=lambda: store.drop(path))


def _kind(path: str) -> tuple[str, str]:
    """(collection, name or '') of a path like projects/p/zones/z/instances/i or projects/p/global/networks."""
    parts = path.split("/")
    rest = parts[3:] if parts[2] in ("global", "aggregated") else parts[4:]
    if len(rest) % 2:
        return rest[-1], ""
    if rest[-1] == "bulkInsert":
        return "instances", ""
    return rest[-2], rest[-1]


def _mask(query: dict[str, str]) -> dict[str, Any]:
    return parse_fields(query.get("fields", ""))


def _filtered(items: list[Resource], query: dict[str, str]) -> list[Resource]:
    expression = query.get("filter", "")
    return [item for item in items if matches(expression, item)] if expression else items


def _slice(items: list[Any], query: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
    size, start = min(int(query.get("maxResults", PAGE)), PAGE), int(query.get("pageToken", "0"))
    more = {"nextPageToken": str(start + size)} if start + size < len(items) else {}
    return items[start : start + size], more


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    fake: FakeCompute

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not worth a traceback."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PATCH(self) -> None:
        self._serve("PATCH")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def log_message(self, format: str, *args: Any) -> None:
        """The fake has its own log."""

    def _serve(self, method: str) -> None:
        fake, url = self.server.fake, urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            method,
            url.path.removeprefix(BASE),
            dict(parse_qsl(url.query)),
            json.loads(raw) if raw else None,
            bool(self.headers.get("Authorization")),
        )
        planted = fake.script.next_answer(method, request.path) or Answer()
        fake.log.append(request)
        if planted.delay:
            fake.closing.wait(planted.delay)
        if planted.cut == "before":
            return self._cut()
        status, payload = (planted.status, planted.payload()) if planted.status is not None else self._ordinary(request)
        fake.on_request(request, status)
        if planted.cut == "after":
            return self._cut()
        return self._send(status, payload, planted)

    def _ordinary(self, request: Request) -> tuple[int, bytes]:
        fake = self.server.fake
        if fake.token and self.headers.get("Authorization") != f"Bearer {fake.token}":
            return 401, Answer.error(401, "authError", "Invalid Credentials").payload()
        try:
            return 200, fake.answer(request)
        except RefusedError as failure:
            return failure.status, Answer.error(failure.status, failure.reason, str(failure)).payload()
        except (ValueError, KeyError, IndexError) as exc:
            return 400, Answer.error(400, "invalid", f"{type(exc).__name__}: {exc}").payload()

    def _send(self, status: int, payload: bytes, planted: Answer) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in planted.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload[: len(payload) // 2] if planted.cut == "body" else payload)
        if planted.cut:
            self._cut()

    def _cut(self) -> None:
        self.close_connection = True
