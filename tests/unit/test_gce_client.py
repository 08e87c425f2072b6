"""The Compute client: what it tries again, how long, and how it waits for operations. Time is a counter."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.auth import Auth, check_endpoint
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.client import Clock, Compute, Policy
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.errors import (
    ApiError,
    AuthError,
    GceError,
    NoAnswerError,
    OperationError,
    api_error,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.http import open_session

from tests.fakes.gce import Answer, FakeCompute, Store
from tests.fakes.gce.scenario import zone_path

NETWORKS = "projects/demo-project/global/networks"


class FakeTime:
    """Sleeping is adding; what was slept is remembered."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def clock(self) -> Clock:
        return Clock(now=lambda: sum(self.slept), sleep=self.slept.append, jitter=lambda: 0.5)


@pytest.fixture
def fake() -> Iterator[FakeCompute]:
    with FakeCompute(Store(operation_reads=4)) as running:
        yield running


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


def client(fake: FakeCompute, time: FakeTime, **policy: Any) -> Compute:
    return Compute(open_session(Auth("anonymous")), fake.url, Policy(**policy), time.clock())


TEMPORARY = {
    "408": Answer.error(408, "", "request timeout"),
    "429": Answer.error(429, "rateLimitExceeded", "slow down"),
    "500": Answer(500, b"oops"),
    "502": Answer(502, b"<html>Bad Gateway</html>"),
    "503": Answer.error(503, "backendError", "try again"),
    "504": Answer.error(504, "", "deadline"),
    "quota": Answer.error(403, "rateLimitExceeded", "Quota exceeded"),
    "cut": Answer(cut="before"),
    "half": Answer(cut="body"),
    "slow": Answer(delay=1),
}


@pytest.mark.parametrize("name", TEMPORARY)
def test_temporary_failures_are_tried_again(fake: FakeCompute, time: FakeTime, name: str) -> None:
    fake.script.plant("GET", NETWORKS, TEMPORARY[name], TEMPORARY[name])
    timeout = 0.2 if name == "slow" else 20
    assert client(fake, time, timeout=timeout).get(NETWORKS)["items"] == []
    assert len(fake.log) == 3
    assert time.slept == [0.5, 1.0]


FINAL = {
    "400": (Answer.error(400, "invalid", "bad filter"), ApiError),
    "401": (Answer.error(401, "authError", "Invalid Credentials"), ApiError),
    "403": (Answer.error(403, "forbidden", "no permission"), ApiError),
    "404": (Answer.error(404, "notFound", "was not found"), ApiError),
    "409": (Answer.error(409, "alreadyExists", "already exists"), ApiError),
    "412": (Answer.error(412, "conditionNotMet", "fingerprint"), ApiError),
    "html": (Answer(200, b"<html></html>"), GceError),
}


@pytest.mark.parametrize("name", FINAL)
def test_a_refusal_is_not_tried_again(fake: FakeCompute, time: FakeTime, name: str) -> None:
    answer, error = FINAL[name]
    fake.script.plant("GET", NETWORKS, answer)
    with pytest.raises(error, match=NETWORKS):
        client(fake, time).get(NETWORKS)
    assert (len(fake.log), time.slept) == (1, [])


def test_pauses_grow_and_end_at_the_deadline(fake: FakeCompute, time: FakeTime) -> None:
    fake.script.plant("GET", NETWORKS, TEMPORARY["503"], forever=True)
    with pytest.raises(ApiError, match="HTTP 503"):
        client(fake, time, deadline=100, longest_pause=16).get(NETWORKS)
    assert time.slept == [0.5, 1, 2, 4, 8, 16, 16, 16, 16, 16]


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 0.25), (0.999, 0.7495)], ids=["least", "most"])
def test_pauses_are_spread_so_that_clients_do_not_come_back_together(
    fake: FakeCompute, time: FakeTime, jitter: float, pause: float
) -> None:
    fake.script.plant("GET", NETWORKS, TEMPORARY["503"])
    clock = dataclasses.replace(time.clock(), jitter=lambda: jitter)
    Compute(open_session(Auth("anonymous")), fake.url, Policy(), clock).get(NETWORKS)
    assert time.slept == [pytest.approx(pause)]


def test_retry_after_is_kept_to(fake: FakeCompute, time: FakeTime) -> None:
    fake.script.plant("GET", NETWORKS, Answer.error(429, "", "slow down", Retry_After="7"))
    client(fake, time).get(NETWORKS)
    assert time.slept == [7.0]


def test_retry_after_beyond_the_deadline_ends_at_once(fake: FakeCompute, time: FakeTime) -> None:
    fake.script.plant("GET", NETWORKS, Answer.error(503, "", "maintenance", Retry_After="3600"), forever=True)
    with pytest.raises(ApiError, match="maintenance"):
        client(fake, time).get(NETWORKS)
    assert (len(fake.log), time.slept) == (1, [])


def test_one_request_id_for_all_tries_of_a_write(fake: FakeCompute, time: FakeTime) -> None:
    fake.script.plant("POST", NETWORKS, TEMPORARY["503"], Answer(cut="after"))
    compute = client(fake, time)
    operation = compute.write("POST", NETWORKS, {"name": "n"})
    assert [request.query["requestId"] for request in fake.log] == [fake.log[0].query["requestId"]] * 3
    assert (operation.target, operation.kind) == (f"{NETWORKS}/n", "insert")
    assert len(fake.store.operations) == 1
    assert compute.write("POST", NETWORKS, {"name": "m"}).target == f"{NETWORKS}/m"
    assert fake.log[3].query["requestId"] != fake.log[0].query["requestId"]


def test_f22_eighteen_operations_cost_few_questions(fake: FakeCompute, time: FakeTime) -> None:
    compute = client(fake, time)
    fake.store.fail_operation("n07", "ZONE_RESOURCE_POOL_EXHAUSTED", "no capacity")
    operations = [compute.write("POST", NETWORKS, {"name": f"n{number:02d}"}) for number in range(18)]
    failed: dict[str, str] = {}
    for operation in operations:
        try:
            compute.wait(operation, limit=300)
        except OperationError as exc:
            failed[exc.target] = exc.code
    assert failed == {f"{NETWORKS}/n07": "ZONE_RESOURCE_POOL_EXHAUSTED"}
    made = {path.rsplit("/", 1)[1] for path in fake.store.resources}
    assert made == {f"n{number:02d}" for number in range(18) if number != 7}
    questions = [request for request in fake.log if request.path.endswith("/wait")]
    assert len(questions) <= 18 * 6


def test_an_operation_with_warnings_only_is_good(fake: FakeCompute, time: FakeTime) -> None:
    compute = client(fake, time)
    operation = compute.write("POST", NETWORKS, {"name": "n"})
    fake.store.operations[operation.path].body["warnings"] = [{"code": "DEPRECATED_RESOURCE_USED"}]
    assert compute.wait(operation, limit=300)["status"] == "DONE"


def test_waiting_is_bounded(fake: FakeCompute, time: FakeTime) -> None:
    fake.store.operation_reads = 10_000
    compute = client(fake, time)
    operation = compute.write("POST", NETWORKS, {"name": "n"})
    with pytest.raises(NoAnswerError, match=r"is RUNNING after 20 s\. It goes on without us"):
        compute.wait(operation, limit=20, poll=2)
    assert sum(time.slept) == 20


def test_an_answer_that_is_no_operation_is_an_error(fake: FakeCompute, time: FakeTime) -> None:
    fake.script.plant("POST", NETWORKS, Answer(200, {"kind": "something"}))
    with pytest.raises(GceError, match="is not an operation"):
        client(fake, time).write("POST", NETWORKS, {"name": "n"})


def test_unknown_fields_are_refused_as_compute_does(fake: FakeCompute, time: FakeTime) -> None:
    with pytest.raises(ApiError, match="Invalid JSON payload"):
        client(fake, time).write("POST", zone_path("instances"), {"name": "w0", "gpuTopolgy": "1x72"})
    with pytest.raises(ApiError, match="does not know what a body of routers looks like"):
        client(fake, time).write("POST", "projects/demo-project/regions/us-east1/routers", {"name": "r"})


@pytest.mark.parametrize(
    ("body", "reason", "message"),
    [
        ({"error": {"code": 403, "message": "m", "errors": [{"reason": "forbidden"}]}}, "forbidden", "m"),
        (
            {"error": {"code": 403, "message": "m", "details": [{"reason": "SERVICE_DISABLED"}]}},
            "SERVICE_DISABLED",
            "m",
        ),
        ({"error": {"code": 403, "message": "m"}}, "", "m"),
        ({"error": "invalid_grant"}, "", "invalid_grant"),
        ({"error": {"errors": None, "message": None}}, "", ""),
        ("<html>", "", "<html>"),
        (None, "", ""),
    ],
)
def test_errors_of_any_shape_are_read(body: Any, reason: str, message: str) -> None:
    found = api_error("GET x", 403, {}, body)
    assert (found.reason, found.message) == (reason, message)


@pytest.mark.parametrize(
    ("endpoint", "kind", "expected"),
    [
        ("https://compute.googleapis.com/", "application", "https://compute.googleapis.com"),
        ("http://127.0.0.1:8085", "accesstoken", "http://127.0.0.1:8085"),
        ("http://proxy.example", "anonymous", "http://proxy.example"),
        ("http://proxy.example", "accesstoken", None),
        ("compute.googleapis.com", "application", None),
        ("ftp://x", "application", None),
    ],
)
def test_credentials_never_go_over_plain_http(endpoint: str, kind: str, expected: str | None) -> None:
    auth = Auth(kind)
    if expected:
        assert check_endpoint(endpoint, auth) == expected
        return
    with pytest.raises(AuthError, match="https://"):
        check_endpoint(endpoint, auth)


def test_tokens_are_in_no_representation() -> None:
    assert "ya29" not in repr(Auth("accesstoken", access_token="ya29.secret"))
