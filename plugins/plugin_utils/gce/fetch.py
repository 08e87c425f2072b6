# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask Compute for the instances of projects and zones, and for the health of the sub-blocks they sit in.

Zones are asked in parallel. What could not be read is named in ``Answer.missing``, never left out in silence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from ...module_utils.gce.client import Compute, below_v1
from ...module_utils.gce.errors import ApiError, GceError, MalformedAnswerError, NoAnswerError

__all__ = ["Answer", "Question", "ask"]

Json = dict[str, Any]
SCHEMA = 1  # of what is cached: raise it when ``ask`` keeps something else

# Compute sends only these. Metadata, which holds secrets in many fleets, is not even asked for without an allow-list.
INSTANCE_FIELDS = (
    "id,name,hostname,zone,selfLink,status,machineType,creationTimestamp,lastStartTimestamp,labels,tags/items,"
    "networkInterfaces(name,nicType,network,subnetwork,networkAttachment,networkIP,ipv6Address,stackType,"
    "accessConfigs/natIP,ipv6AccessConfigs/externalIpv6),"
    "scheduling(provisioningModel,onHostMaintenance,automaticRestart,instanceTerminationAction),"
    "reservationAffinity/values,resourcePolicies,"
    "resourceStatus(physicalHost,physicalHostTopology,reservationConsumptionInfo,upcomingMaintenance)"
)
SUB_BLOCK_FIELDS = "kind,nextPageToken,items(name,selfLink,count,inUseCount,healthInfo,physicalTopology)"


@dataclass(frozen=True)
class Question:
    """Everything that decides what comes back: the key of the cache."""

    endpoint: str
    projects: tuple[str, ...]
    zones: tuple[str, ...] = ()
    filter: str = ""
    metadata_keys: tuple[str, ...] = ()
    sub_block_health: bool = True
    identity: str = ""  # kind of credentials and account; another account may see other machines

    def digest(self) -> str:
        text = json.dumps([SCHEMA, INSTANCE_FIELDS, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass
class Answer:
    """``instances`` as Compute wrote them (only the asked fields), ordered by project, zone and name."""

    instances: list[Json] = field(default_factory=list)
    sub_blocks: list[Json] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # scopes that could not be read: "projects/p/zones/b: why"
    notes: list[str] = field(default_factory=list)  # other things a person should know


@dataclass(frozen=True)
class _Scope:
    """One list request: a project's zone, or a whole project."""

    project: str
    zone: str = ""

    @property
    def path(self) -> str:
        middle = f"zones/{self.zone}" if self.zone else "aggregated"
        return f"projects/{self.project}/{middle}/instances"


def ask(question: Question, compute: Compute, *, workers: int, skip_forbidden: bool, partial_is_error: bool) -> Answer:
    """The whole answer. Raises GceError when nothing can be read, or when a refusal is not to be skipped."""
    scopes = [_Scope(p, zone) for p in question.projects for zone in question.zones or ("",)]
    answer, failures = Answer(), []
    for scope, result in zip(scopes, _parallel(lambda s: _list(question, compute, s), scopes, workers), strict=True):
        if not isinstance(result, GceError):
            answer.instances += result.instances
            answer.missing += result.missing
            continue
        if not _may_be_left_out(result, skip_forbidden):
            raise result
        failures.append(result)
        answer.missing.append(f"{scope.path}: {result}")
    if failures and len(failures) == len(scopes):
        raise failures[0]
    if answer.missing and partial_is_error:
        raise NoAnswerError("the answer is incomplete: " + "; ".join(answer.missing))
    answer.instances.sort(key=lambda item: below_v1(item["selfLink"]))
    if question.sub_block_health:
        _add_health(answer, compute, workers)
    return answer


def _parallel[I, O](work: Callable[[I], O], inputs: list[I], workers: int) -> Iterator[O | GceError]:
    """Results in the order of the inputs; a GceError is a result."""

    def guarded(item: I) -> O | GceError:
        try:
            return work(item)
        except GceError as exc:
            return exc

    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="gce") as pool:
        yield from pool.map(guarded, inputs)


def _may_be_left_out(exc: GceError, skip_forbidden: bool) -> bool:
    """A scope that is silent or overloaded may be missing for once; a refusal only where the user said so."""
    if isinstance(exc, ApiError):
        return exc.temporary or (exc.status == 403 and skip_forbidden)
    return isinstance(exc, NoAnswerError)


def _list(question: Question, compute: Compute, scope: _Scope) -> Answer:
    fields = INSTANCE_FIELDS + (",metadata/items" if question.metadata_keys else "")
    below = f"instances({fields})"
    items = f"items({fields})" if scope.zone else f"items/*/{below},items/*/warning"
    params = {"fields": f"kind,nextPageToken,warning,unreachables,{items}", "returnPartialSuccess": "true"}
    if question.filter:
        params["filter"] = question.filter
    answer = Answer()
    for page in compute.pages(scope.path, params):
        _take(page, scope, answer, question.metadata_keys)
    return answer


def _take(page: Json, scope: _Scope, answer: Answer, metadata_keys: tuple[str, ...]) -> None:
    """Read one page into the answer."""
    if "items" not in page and "kind" not in page:
        raise MalformedAnswerError(f"GET {scope.path}: the answer is no list of instances: {page!s:.120}")
    items = page.get("items", [] if scope.zone else {})
    found = items if scope.zone else _scoped(items, scope, answer)
    for raw in _checked(found, scope):
        values = raw.pop("metadata", None)
        if metadata_keys:
            raw["metadata"] = _allowed(values, metadata_keys)
        answer.instances.append(raw)
    known = "\n".join(answer.missing)
    for unreachable in page.get("unreachables") or []:
        if f"/{unreachable}:" not in known:
            answer.missing.append(f"projects/{scope.project}/{unreachable}: unreachable")
    _note_warning(page.get("warning"), f"projects/{scope.project}", answer)


def _scoped(items: Any, scope: _Scope, answer: Answer) -> list[Any]:
    """The instances of an aggregated page, whose items are {"zones/z": {"instances": [...], "warning": {...}}}."""
    if not isinstance(items, dict) or not all(isinstance(value, dict) for value in items.values()):
        raise MalformedAnswerError(f"GET {scope.path}: items is no mapping of zones: {items!s:.120}")
    found = []
    for name, value in items.items():
        found += value.get("instances", [])
        _note_warning(value.get("warning"), f"projects/{scope.project}/{name}", answer)
    return found


def _note_warning(warning: Any, where: str, answer: Answer) -> None:
    """NO_RESULTS_ON_PAGE is normal; any other warning means that something is missing."""
    code = warning.get("code", "") if isinstance(warning, dict) else ""
    if code and code != "NO_RESULTS_ON_PAGE":
        answer.missing.append(f"{where}: {code} {warning.get('message', '')}".strip())


def _checked(found: Any, scope: _Scope) -> Iterable[Json]:
    if not isinstance(found, list):
        raise MalformedAnswerError(f"GET {scope.path}: items is no list: {found!s:.120}")
    for raw in found:
        named = isinstance(raw, dict) and isinstance(raw.get("name"), str)
        if not named or "/zones/" not in str(raw.get("selfLink") or raw.get("zone")):
            raise MalformedAnswerError(f"GET {scope.path}: an item without name and zone: {raw!s:.120}")
        if "/compute/v1/projects/" not in str(raw.get("selfLink")):
            zone = str(raw.get("selfLink") or raw["zone"]).split("/zones/", 1)[1].split("/")[0]
            raw["selfLink"] = f"projects/{scope.project}/zones/{zone}/instances/{raw['name']}"
        yield raw


def _allowed(metadata: Any, keys: tuple[str, ...]) -> Json:
    items = metadata.get("items", []) if isinstance(metadata, dict) else []
    return {item["key"]: item.get("value") for item in items if item.get("key") in keys}


def _add_health(answer: Answer, compute: Compute, workers: int) -> None:
    """The sub-blocks of every reservation block that a machine of the answer consumes. Without them health is None."""
    blocks = sorted({block for raw in answer.instances if (block := _block_of(raw))})
    paths = [f"{block}/reservationSubBlocks" for block in blocks]

    def read(path: str) -> list[Json]:
        return compute.items(path, {"fields": SUB_BLOCK_FIELDS})

    for path, result in zip(paths, _parallel(read, paths, workers), strict=True):
        if isinstance(result, GceError):
            answer.notes.append(f"the health of {path} is unknown: {result}")
        else:
            answer.sub_blocks += result


def _block_of(raw: Json) -> str:
    """projects/P/zones/Z/reservations/R/reservationBlocks/B, from the consumed sub-block or block; '' without one."""
    info = (raw.get("resourceStatus") or {}).get("reservationConsumptionInfo") or {}
    link = below_v1(info.get("consumedReservationSubBlock") or info.get("consumedReservationBlock") or "")
    parts = link.split("/")
    return "/".join(parts[:8]) if len(parts) >= 8 and parts[6] == "reservationBlocks" else ""
