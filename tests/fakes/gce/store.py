"""The fake's memory: resources by path, operations that advance each time somebody reads them, and request ids."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Resource = dict[str, Any]
COMPUTE = "https://www.googleapis.com/compute/v1/"


class RefusedError(Exception):
    """A refusal, in Compute's terms."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


@dataclass
class Operation:
    """PENDING on the first read, RUNNING on the next ones, DONE on the last; ``finish`` then changes the resource."""

    body: Resource
    reads_left: int
    progress: Callable[[], None] | None = None
    finish: Callable[[], None] | None = None
    error: tuple[str, str] | None = None
    undo: Callable[[], None] | None = None


@dataclass
class PlannedError:
    target: str
    code: str
    message: str
    times: int = 1


@dataclass
class Store:
    """All state of the fake. Callers hold ``lock`` while they read or write."""

    operation_reads: int = 2
    resources: dict[str, Resource] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    request_ids: dict[str, str] = field(default_factory=dict)
    unreachable_zones: set[str] = field(default_factory=set)
    denied_permissions: set[str] = field(default_factory=set)
    planned_errors: list[PlannedError] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: int = 0
    _last_id: int = 1000

    def next_id(self) -> str:
        self._last_id += 1
        return str(self._last_id)

    def touch(self) -> None:
        self.version += 1

    def put(self, path: str, body: Resource) -> Resource:
        """Store a resource with the fields that the server fills in."""
        self.touch()
        resource = {
            **body,
            "id": body.get("id") or self.next_id(),
            "name": path.rsplit("/", 1)[1],
            "selfLink": COMPUTE + path,
        }
        scope = path.split("/")[2:4]
        if scope[0] == "zones":
            resource.setdefault("zone", f"{COMPUTE}{'/'.join(path.split('/')[:4])}")
        if scope[0] == "regions":
            resource.setdefault("region", f"{COMPUTE}{'/'.join(path.split('/')[:4])}")
        resource.setdefault("creationTimestamp", "2026-11-01T08:00:00.000-07:00")
        self.resources[path] = resource
        return resource

    def get(self, path: str) -> Resource:
        try:
            return self.resources[path]
        except KeyError:
            raise RefusedError(404, "notFound", f"The resource '{path}' was not found") from None

    def drop(self, path: str) -> None:
        self.touch()
        self.resources.pop(path, None)

    def children(self, collection: str) -> Iterator[Resource]:
        """The resources right below a collection's path, by name."""
        depth = collection.count("/") + 1
        names = [path for path in self.resources if path.startswith(collection + "/") and path.count("/") == depth]
        return (self.resources[path] for path in sorted(names))

    def fail_operation(self, target: str, code: str, message: str, times: int = 1) -> None:
        """The next operation on a resource whose path ends with ``target`` ends with this error."""
        self.planned_errors.append(PlannedError(target, code, message, times))

    def start_operation(self, target: str, kind: str, **hooks: Any) -> Resource:
        """Begin work on ``target`` (a path); the answer of every request that writes."""
        scope = "/".join(target.split("/")[: 3 if target.split("/")[2] == "global" else 4])
        number = self.next_id()
        path = f"{scope}/operations/operation-{number}"
        body = {
            "kind": "compute#operation",
            "id": number,
            "name": f"operation-{number}",
            "operationType": kind,
            "status": "PENDING",
            "progress": 0,
            "selfLink": COMPUTE + path,
            "targetLink": COMPUTE + target,
            "targetId": self.resources.get(target, {}).get("id", "0"),
        }
        operation = Operation(body, self.operation_reads, error=self._planned_error(target), **hooks)
        self.operations[path] = operation
        self.touch()
        return dict(body)

    def _planned_error(self, target: str) -> tuple[str, str] | None:
        for plan in self.planned_errors:
            if plan.times and target.endswith(plan.target):
                plan.times -= 1
                return plan.code, plan.message
        return None

    def read_operation(self, path: str, *, to_the_end: bool = False) -> Resource:
        """Reading is what makes time pass for an operation."""
        try:
            operation = self.operations[path]
        except KeyError:
            raise RefusedError(404, "notFound", f"The resource '{path}' was not found") from None
        self._advance(operation)
        while to_the_end and operation.body["status"] != "DONE":
            self._advance(operation)
        return dict(operation.body)

    def _advance(self, operation: Operation) -> None:
        if operation.body["status"] == "DONE":
            return
        self.touch()
        operation.reads_left -= 1
        if operation.reads_left > 0:
            operation.body.update(status="RUNNING", progress=50)
            if operation.progress:
                operation.progress()
            return
        operation.body.update(status="DONE", progress=100, endTime=datetime.now(UTC).isoformat())
        if operation.error:
            code, message = operation.error
            operation.body["error"] = {"errors": [{"code": code, "message": message}]}
            operation.body["httpErrorStatusCode"] = 503 if "EXHAUSTED" in code else 400
            operation.body["httpErrorMessage"] = "SERVICE UNAVAILABLE" if "EXHAUSTED" in code else "BAD REQUEST"
            if operation.undo:
                operation.undo()
        elif operation.finish:
            operation.finish()

    def tick(self, target: str) -> None:
        """Reading a resource lets the operations on it advance too."""
        for operation in list(self.operations.values()):
            if operation.body["targetLink"] == COMPUTE + target:
                self._advance(operation)
