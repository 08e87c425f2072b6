"""The inventory plugin against the fake API, in this process: what it lists, groups and refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible import constants
from ansible.errors import AnsibleError, AnsibleParserError

from tests.fakes.gce import Answer, FakeCompute, Store
from tests.fakes.gce.inventory import Read, config, read_inventory
from tests.fakes.gce.scenario import DOMAINS, PROJECT, ZONE, a4x, instance, placed, zone_path
from tests.fakes.gce.server import Request

INSTANCES = r"zones/us-east1-d/instances$"
STATUSES = [
    "STOPPING",
    "PENDING",
    "PENDING_STOP",
    "STAGING",
    "PROVISIONING",
    "REPAIRING",
    "SUSPENDING",
    "SUSPENDED",
    "STOPPED",
    "TERMINATED",
    "DEPROVISIONING",
    "NEW_STATE",
]


@pytest.fixture(autouse=True)
def _unparsed_setting() -> Iterator[None]:
    """A failed source changes this setting of Ansible on purpose; no test may see another's."""
    before = constants.INVENTORY_ANY_UNPARSED_IS_FAILED
    yield
    constants.INVENTORY_ANY_UNPARSED_IS_FAILED = before


def fleet(*machines: dict[str, Any], zone: str = ZONE, project: str = PROJECT, store: Store | None = None) -> Store:
    store = store or Store()
    for machine in machines:
        store.put(zone_path("instances", machine["name"], zone=zone, project=project), machine)
    return store


def nic(address: str | None = None, kind: str = "GVNIC", **fields: Any) -> dict[str, Any]:
    return {"name": "nic0", "nicType": kind, **({"networkIP": address} if address else {}), **fields}


def inventory(tmp_path: Path, store: Store, **options: Any) -> Read:
    with FakeCompute(store) as fake:
        return read_inventory(tmp_path, config(fake, **options))


def test_a4x_fleet(tmp_path: Path) -> None:
    read = inventory(tmp_path, a4x(), keyed_groups=[{"prefix": "model", "key": "gce_provisioning_model"}])
    first = [f"a4x-a-{n:02d}" for n in range(18)]
    second = [f"a4x-b-{n:02d}" for n in range(18)]
    others = ["bastion", "cp-1", "stopped-1"]
    everything = sorted([*first, *second, *others])
    assert read.groups == {
        "all": everything,
        f"nvl_{DOMAINS[0]}": first,
        f"nvl_{DOMAINS[1]}": second,
        "gce_block_b2f0a9": first + second,
        "gce_cluster_7c31e0b2d4": first + second,
        "gce_reservation_gb200_reservation": [*first, *second, "stopped-1"],
        "gce_status_running": sorted([*first, *second, "bastion", "cp-1"]),
        "gce_status_terminated": ["stopped-1"],
        "gce_machine_a4x_highgpu_4g": [*first, *second, "stopped-1"],
        "gce_machine_e2_standard_4": ["bastion", "cp-1"],
        "gce_zone_us_east1_d": everything,
        "gce_project_demo_project": everything,
        "gce_label_fleet_demo": [*first, *second, "cp-1", "stopped-1"],
        "gce_label_role_worker": [*first, *second, "stopped-1"],
        "gce_label_role_control_plane": ["cp-1"],
        "gce_maintenance": ["a4x-b-03"],
        "gce_no_topology": ["stopped-1"],
        "model_RESERVATION_BOUND": [*first, *second, "stopped-1"],
        "model_STANDARD": ["bastion", "cp-1"],
        "ungrouped": [],
    }
    assert read.warnings == []
    assert read.all_variables["gce_inventory_missing"] == []


def test_all_variables_of_a_machine(tmp_path: Path) -> None:
    read = inventory(tmp_path, a4x())

    def card(index: int, network: str, subnetwork: str, address: str, kind: str) -> dict[str, Any]:
        nothing = dict.fromkeys(("external_address", "ipv6_address", "network_attachment"))
        named = {"name": f"nic{index}", "network": network, "subnetwork": subnetwork, "address": address, "type": kind}
        return {**nothing, **named}

    rails = [(n, f"fleet-rdma-{n}", f"10.{20 + n}.2.13") for n in range(4)]
    assert read.hosts["a4x-b-03"] == {
        "ansible_host": "10.10.2.13",
        "gce_block": "b2f0a9",
        "gce_cluster": "7c31e0b2d4",
        "gce_created": "2026-11-01T08:00:00.000-07:00",
        "gce_domain": "2f3c77aa",
        "gce_external_ip": None,
        "gce_hostname": None,
        "gce_id": read.hosts["a4x-b-03"]["gce_id"],
        "gce_internal_ip": "10.10.2.13",
        "gce_internal_ipv6": None,
        "gce_labels": {"fleet": "demo", "role": "worker"},
        "gce_machine_type": "a4x-highgpu-4g",
        "gce_maintenance": {
            "can_reschedule": True,
            "reasons": [],
            "status": "PENDING",
            "type": "SCHEDULED",
            "window_end": "2026-12-08T10:00:00Z",
            "window_start": "2026-12-08T06:00:00Z",
        },
        "gce_metadata": {},
        "gce_name": "a4x-b-03",
        "gce_network_interfaces": [
            card(0, "fleet-gvnic-0", "fleet-gvnic-0", "10.10.2.13", "GVNIC"),
            card(1, "fleet-gvnic-1", "fleet-gvnic-1", "10.11.2.13", "GVNIC"),
            *(card(n + 2, "fleet-rdma", subnet, address, "MRDMA") for n, subnet, address in rails),
        ],
        "gce_placement_policies": [],
        "gce_project": PROJECT,
        "gce_provisioning_model": "RESERVATION_BOUND",
        "gce_rails": [card(n + 2, "fleet-rdma", subnet, address, "MRDMA") for n, subnet, address in rails],
        "gce_region": "us-east1",
        "gce_reservation": {
            "name": "gb200-reservation",
            "block": "gb200-reservation-block-0001",
            "sub_block": "gb200-reservation-block-0001-subblock-0002",
        },
        "gce_status": "RUNNING",
        "gce_sub_block_health": {
            "degraded_hosts": 1,
            "healthy_hosts": 17,
            "hosts": 18,
            "hosts_in_use": 18,
            "status": "DEGRADED",
        },
        "gce_tags": ["fleet"],
        "gce_topology": {"cluster": "7c31e0b2d4", "block": "b2f0a9", "sub_block": "2f3c77aa", "host": "03e4"},
        "gce_zone": ZONE,
    }
    assert json.loads(json.dumps(read.hosts)) == read.hosts
    assert all(list(variables) == sorted(variables, key=_ansible_last) for variables in read.hosts.values())


def _ansible_last(name: str) -> tuple[bool, str]:
    return name.startswith("ansible_"), name


@pytest.mark.parametrize("status", STATUSES)
def test_f01_a_machine_in_a_passing_state_harms_nobody(tmp_path: Path, status: str) -> None:
    odd = {"name": "w3", "status": status, "networkInterfaces": [{"name": "nic0"}]}
    read = inventory(tmp_path, fleet(instance("w0"), odd))
    assert list(read.hosts) == ["w0", "w3"]
    assert read.hosts["w3"]["gce_status"] == status
    assert "ansible_host" not in read.hosts["w3"]
    assert read.groups[f"gce_status_{status.lower()}"] == ["w3"]
    assert read.groups["gce_no_address"] == ["w3"]


def test_statuses_keeps_only_those(tmp_path: Path) -> None:
    read = inventory(tmp_path, fleet(instance("w0"), instance("w1", status="STOPPING")), statuses=["RUNNING"])
    assert list(read.hosts) == ["w0"]


@pytest.mark.parametrize("zones", [["us-east1-b", "us-east1-d"], ["us-east1-d", "us-east1-b"], []])
def test_f02_one_name_in_two_zones(tmp_path: Path, zones: list[str]) -> None:
    store = fleet(instance("w0", networkInterfaces=[nic("10.0.0.2")]))
    fleet(instance("w0", networkInterfaces=[nic("10.9.9.9")]), zone="us-east1-b", store=store)
    read = inventory(tmp_path, store, zones=zones)
    assert {name: variables["ansible_host"] for name, variables in read.hosts.items()} == {
        "w0.us-east1-b.demo-project": "10.9.9.9",
        "w0.us-east1-d.demo-project": "10.0.0.2",
    }
    assert len(read.warnings) == 1
    assert "2 machines want the inventory name w0" in read.warnings[0]


def test_f02_duplicates_can_be_an_error(tmp_path: Path) -> None:
    store = fleet(instance("w0"), store=fleet(instance("w0"), zone="us-east1-b"))
    with pytest.raises(AnsibleParserError, match=r"w0\.us-east1-b\.demo-project, w0\.us-east1-d\.demo-project"):
        inventory(tmp_path, store, zones=[], duplicates="error")


def test_f04_temporary_failures_are_tried_again(tmp_path: Path) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        busy = Answer.error(503, "backendError", "try later")
        waiting = Answer.error(503, "backendError", "try later", Retry_After="0")
        fake.script.plant("GET", INSTANCES, busy, waiting)
        read = read_inventory(tmp_path, config(fake))
        assert list(read.hosts) == ["w0"]
        assert len(fake.log) == 3
        assert read.warnings == []


@pytest.mark.parametrize(
    "answer",
    [Answer(delay=5), Answer(cut="before"), Answer(cut="body"), Answer.error(429, "", "slow down")],
    ids=["hangs", "cut", "half", "429"],
)
def test_f04_silence_ends_in_an_error_that_names_project_and_path(tmp_path: Path, answer: Answer) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        fake.script.plant("GET", INSTANCES, answer, forever=True)
        with pytest.raises(
            AnsibleParserError, match=r"GET \S+/compute/v1/projects/demo-project/zones/us-east1-d/insta"
        ):
            read_inventory(tmp_path, config(fake, request_timeout=0.2, request_deadline=0.5))


QUOTA = Answer.error(403, "rateLimitExceeded", "Quota exceeded for quota group 'ReadGroup'")
REFUSALS = {
    "forbidden": Answer.error(403, "forbidden", "Required 'compute.instances.list' permission"),
    "accessNotConfigured": Answer.error(403, "accessNotConfigured", "Compute Engine API has not been used"),
    "bare": Answer(403, {"error": {"code": 403, "message": "no reason given"}}),
    "text": Answer(403, b"<html>Forbidden by proxy</html>"),
}


def test_f05_a_quota_is_tried_again(tmp_path: Path) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        fake.script.plant("GET", INSTANCES, QUOTA)
        assert list(read_inventory(tmp_path, config(fake)).hosts) == ["w0"]


@pytest.mark.parametrize("name", REFUSALS)
def test_f05_a_refusal_is_final(tmp_path: Path, name: str) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        fake.script.plant("GET", INSTANCES, REFUSALS[name], forever=True)
        text = {"forbidden": "compute.instances.list", "accessNotConfigured": "Enable the Compute Engine API"}
        with pytest.raises(AnsibleParserError, match=text.get(name, "no reason given|Forbidden by proxy")):
            read_inventory(tmp_path, config(fake))
        assert len(fake.log) == 1


def test_f05_one_refusing_project_can_be_skipped(tmp_path: Path) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        fake.script.plant("GET", "projects/closed/", REFUSALS["forbidden"], forever=True)
        options = config(fake, projects=["closed", PROJECT], skip_forbidden=True)
        read = read_inventory(tmp_path, options)
        assert list(read.hosts) == ["w0"]
        assert len(read.warnings) == len(read.all_variables["gce_inventory_missing"]) == 1
        with pytest.raises(AnsibleParserError, match="HTTP 403"):
            read_inventory(tmp_path, {**options, "projects": ["closed"]})


PARTIAL = {
    "kind": "compute#instanceAggregatedList",
    "items": {
        "zones/us-east1-d": {"instances": [{**instance("w0"), "selfLink": zone_path("instances", "w0")}]},
        "zones/us-east1-b": {"warning": {"code": "UNREACHABLE"}},
        "zones/us-east1-c": {"warning": {"code": "NO_RESULTS_ON_PAGE"}},
    },
    "unreachables": ["zones/us-east1-b"],
    "nextPageToken": "2",
}


def test_f07_an_unreachable_zone_is_seen(tmp_path: Path) -> None:
    with FakeCompute() as fake:
        last = Answer(200, {"kind": "compute#instanceAggregatedList"})
        fake.script.plant("GET", "aggregated/instances", Answer(200, PARTIAL), last, Answer(200, PARTIAL), last)
        read = read_inventory(tmp_path, config(fake, zones=[]))
        assert list(read.hosts) == ["w0"]
        assert read.all_variables["gce_inventory_missing"] == ["projects/demo-project/zones/us-east1-b: UNREACHABLE"]
        assert read.warnings == ["the inventory is incomplete: projects/demo-project/zones/us-east1-b: UNREACHABLE"]
        with pytest.raises(AnsibleParserError, match=r"the answer is incomplete: .*us-east1-b"):
            read_inventory(tmp_path, config(fake, zones=[], on_partial="error"))


def test_f07_a_partial_answer_does_not_replace_a_complete_cache(tmp_path: Path) -> None:
    store = fleet(instance("w0"), store=fleet(instance("w1"), zone="us-east1-b"))
    with FakeCompute(store) as fake:
        options = config(fake, zones=[], cache=True, cache_folder=str(tmp_path / "cache"))
        assert list(read_inventory(tmp_path, options).hosts) == ["w0", "w1"]
        store.unreachable_zones.add("us-east1-b")
        store.touch()
        assert list(read_inventory(tmp_path, options, flush=True).hosts) == ["w0"]
        assert list(read_inventory(tmp_path, options).hosts) == ["w0", "w1"]


def test_a_zone_that_fails_beside_one_that_answers(tmp_path: Path) -> None:
    store = fleet(instance("w0"), store=fleet(instance("w1"), zone="us-east1-b"))
    store.unreachable_zones.add("us-east1-b")
    read = inventory(tmp_path, store, zones=["us-east1-b", ZONE], request_deadline=0.3)
    assert list(read.hosts) == ["w0"]
    assert "projects/demo-project/zones/us-east1-b/instances: GET" in read.all_variables["gce_inventory_missing"][0]


def test_f08_flush_cache_rewrites_the_cache(tmp_path: Path) -> None:
    with FakeCompute(fleet(instance("gen1"))) as fake:
        options = config(fake, cache=True, cache_folder=str(tmp_path / "cache"))
        assert list(read_inventory(tmp_path, options).hosts) == ["gen1"]
        asked = len(fake.log)
        fake.store.drop(zone_path("instances", "gen1"))
        fleet(instance("gen2"), store=fake.store)
        assert list(read_inventory(tmp_path, options).hosts) == ["gen1"]
        assert len(fake.log) == asked
        assert list(read_inventory(tmp_path, options, flush=True).hosts) == ["gen2"]
        assert list(read_inventory(tmp_path, options).hosts) == ["gen2"]
        other = read_inventory(tmp_path, {**options, "projects": [PROJECT, PROJECT], "zones": []})
        assert list(other.hosts) == ["gen2"]
        assert len(list((tmp_path / "cache").iterdir())) == 2


def test_f08_a_hit_needs_no_credentials(tmp_path: Path) -> None:
    with FakeCompute(fleet(instance("w0")), token="ya29.right") as fake:
        options = config(fake, auth_kind="accesstoken", cache=True, cache_folder=str(tmp_path / "cache"))
        read_inventory(tmp_path, {**options, "access_token": "ya29.right"})
        assert list(read_inventory(tmp_path, options).hosts) == ["w0"]
        with pytest.raises(AnsibleParserError, match="needs the option access_token"):
            read_inventory(tmp_path, options, flush=True)


@pytest.mark.parametrize("spoil", ["text", "writable"])
def test_a_spoilt_cache_is_not_used(tmp_path: Path, spoil: str) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        options = config(fake, cache=True, cache_folder=str(tmp_path / "cache"))
        read_inventory(tmp_path, options)
        (file,) = (tmp_path / "cache").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        if spoil == "text":
            file.write_text('{"time": 1, "answer"')
        else:
            file.chmod(0o666)
        asked = len(fake.log)
        read = read_inventory(tmp_path, options)
        assert list(read.hosts) == ["w0"]
        assert len(fake.log) > asked
        assert len(read.warnings) == 1
        assert read_inventory(tmp_path, options).warnings == []


def test_f10_metadata_stays_out(tmp_path: Path) -> None:
    metadata = {"items": [{"key": "join-token", "value": "abcdef.0123"}, {"key": "cp-ip", "value": "10.0.0.2"}]}
    with FakeCompute(fleet(instance("w0", metadata=metadata))) as fake:
        assert read_inventory(tmp_path, config(fake)).hosts["w0"]["gce_metadata"] == {}
        assert "metadata" not in fake.log[0].query["fields"]
        cached = config(fake, metadata_keys=["cp-ip"], cache=True, cache_folder=str(tmp_path / "cache"))
        assert read_inventory(tmp_path, cached).hosts["w0"]["gce_metadata"] == {"cp-ip": "10.0.0.2"}
        (file,) = (tmp_path / "cache").iterdir()
        assert "abcdef.0123" not in file.read_text()


def test_f10_metadata_that_comes_unasked_is_dropped(tmp_path: Path) -> None:
    raw = {**instance("w0"), "selfLink": zone_path("instances", "w0")}
    raw["metadata"] = {"items": [{"key": "join-token", "value": "abcdef.0123"}]}
    with FakeCompute() as fake:
        fake.script.plant("GET", INSTANCES, Answer(200, {"kind": "compute#instanceList", "items": [raw]}))
        read = read_inventory(tmp_path, config(fake, cache=True, cache_folder=str(tmp_path / "cache")))
        (file,) = (tmp_path / "cache").iterdir()
        assert "abcdef.0123" not in file.read_text() + json.dumps(read.hosts)


def test_f11_variables_are_prefixed_and_seen_by_expressions(tmp_path: Path) -> None:
    read = inventory(
        tmp_path,
        fleet(instance("w0")),
        compose={"where": "gce_zone ~ '/' ~ gce_name"},
        groups={"workers": "gce_labels.role == 'worker'"},
        keyed_groups=[{"prefix": "tag", "key": "gce_tags"}],
        strict=True,
    )
    assert all(name.startswith("gce_") or name in ("ansible_host", "where") for name in read.hosts["w0"])
    assert read.hosts["w0"]["where"] == "us-east1-d/w0"
    assert read.groups["workers"] == read.groups["tag_fleet"] == ["w0"]


@pytest.mark.parametrize(
    "option",
    [{"compose": {"x": "nothing.here"}}, {"groups": {"g": "nothing.here"}}, {"keyed_groups": [{"key": "nothing"}]}],
    ids=["compose", "groups", "keyed_groups"],
)
def test_strict_means_strict(tmp_path: Path, option: dict[str, Any]) -> None:
    assert list(inventory(tmp_path, fleet(instance("w0")), **option).hosts) == ["w0"]
    with pytest.raises(AnsibleError, match=r"nothing|Could not"):
        inventory(tmp_path, fleet(instance("w0")), strict=True, **option)


def test_values_are_never_templates(tmp_path: Path) -> None:
    evil = "{{ lookup('pipe', 'id') }}"
    store = fleet(instance("w0", labels={"note": evil}, hostname=evil))
    read = inventory(tmp_path, store, compose={"copied": "gce_labels.note"})
    assert read.hosts["w0"]["gce_labels"] == {"note": evil}
    assert read.hosts["w0"]["copied"] == evil


def test_f13_domains_never_share_a_group(tmp_path: Path) -> None:
    def at(name: str, domain: str) -> dict[str, Any]:
        place = {"cluster": "c", "block": "b", "subblock": domain, "host": name}
        return instance(name, labels={}, resourceStatus={"physicalHostTopology": place})

    read = inventory(tmp_path, fleet(at("w0", "1f3c-aa"), at("w1", "2f3c-aa")))
    assert read.groups["nvl_1f3c_aa"] == ["w0"]
    assert read.groups["nvl_2f3c_aa"] == ["w1"]
    assert read.warnings == []
    clash = inventory(tmp_path, fleet(at("w0", "1f-a"), at("w1", "1f_a")))
    assert clash.warnings == [
        "group nvl_1f_a stands for different values: nvl='1f-a', nvl='1f_a' (told apart by a suffix)"
    ]
    assert sorted(hosts for name, hosts in clash.groups.items() if name.startswith("nvl_")) == [["w0"], ["w1"]]


def test_f13_labels_that_collide_are_reported(tmp_path: Path) -> None:
    store = fleet(
        instance("w0", labels={"role": "gpu-a"}),
        instance("w1", labels={"role": "gpu_a"}),
        instance("w2", labels={"role": ""}),
        instance("w3", labels={"role": "日本"}),
    )
    read = inventory(tmp_path, store)
    labels = {name: hosts for name, hosts in read.groups.items() if name.startswith("gce_label")}
    assert labels == {"gce_label_role_gpu_a": ["w0", "w1"], "gce_label_role_日本": ["w3"]}
    assert len(read.warnings) == 1
    assert "group gce_label_role_gpu_a stands for different values" in read.warnings[0]


ODD_NICS = {
    "attachment": (nic("10.0.0.4", networkAttachment="projects/p/regions/r/networkAttachments/na"), (None, "na")),
    "short": (nic("10.0.0.4", network="global/networks/n"), ("n", None)),
    "full": (nic("10.0.0.4", network="https://h/compute/v1/projects/p/global/networks/n"), ("n", None)),
    "empty": (nic("10.0.0.4"), (None, None)),
}


@pytest.mark.parametrize("name", ODD_NICS)
def test_f14_unusual_network_urls(tmp_path: Path, name: str) -> None:
    card, (network, attachment) = ODD_NICS[name]
    read = inventory(tmp_path, fleet(instance("w0"), instance("w1", networkInterfaces=[card])))
    (found,) = read.hosts["w1"]["gce_network_interfaces"]
    assert (found["network"], found["network_attachment"]) == (network, attachment)
    assert list(read.hosts) == ["w0", "w1"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/c/b/s/h", {"cluster": "c", "block": "b", "sub_block": "s", "host": "h"}),
        ("/c/b/h", {"cluster": "c", "block": "b", "sub_block": None, "host": "h"}),
        ("c/b", {"cluster": "c", "block": "b", "sub_block": None, "host": None}),
        ("/", None),
        (None, None),
    ],
)
def test_f16_physical_host_of_any_depth(tmp_path: Path, path: str | None, expected: dict[str, Any] | None) -> None:
    read = inventory(tmp_path, fleet(instance("w0", resourceStatus={"physicalHost": path})))
    assert read.hosts["w0"]["gce_topology"] == expected
    assert ("gce_no_topology" in read.groups) is (expected is None or expected["sub_block"] is None)


def test_f16_the_structured_field_wins(tmp_path: Path) -> None:
    status = {**placed(0, 1), "physicalHost": "/other/b/s/h"}
    read = inventory(tmp_path, fleet(instance("w0", resourceStatus=status)), sub_block_health=False)
    assert read.hosts["w0"]["gce_domain"] == DOMAINS[0]
    assert read.warnings == [
        "w0: physicalHost '/other/b/s/h' contradicts physicalHostTopology, which is used",
    ]


IPV6_ONLY = nic(stackType="IPV6_ONLY", ipv6Address="fd20::5")
ADDRESSES = {
    "none yet": ([nic()], {}, None),
    "ipv6 only": ([IPV6_ONLY], {}, None),
    "ipv6 allowed": ([IPV6_ONLY], {"use_ipv6": True}, "fd20::5"),
    "rail first": ([nic("10.10.0.5", "MRDMA"), nic("10.0.0.2")], {}, "10.0.0.2"),
    "empty access": ([nic("10.0.0.2", accessConfigs=[{}])], {"connect_to": "external"}, None),
    "external": ([nic("10.0.0.2", accessConfigs=[{"natIP": "1.2.3.4"}])], {"connect_to": "external"}, "1.2.3.4"),
    "not ours": ([nic("10.0.0.2")], {"connect_to": "none"}, None),
    "no cards": ([], {}, None),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_f17_management_address(tmp_path: Path, name: str) -> None:
    cards, options, expected = ADDRESSES[name]
    read = inventory(tmp_path, fleet(instance("w0", status="PROVISIONING", networkInterfaces=cards)), **options)
    assert read.hosts["w0"].get("ansible_host") == expected
    assert (read.groups.get("gce_no_address") == ["w0"]) is (expected is None and name != "not ours")


MALFORMED = {
    "html": Answer(200, b"<html>sign in</html>"),
    "empty body": Answer(200, b""),
    "empty object": Answer(200, {}),
    "list": Answer(200, []),
    "items no list": Answer(200, {"kind": "x", "items": "none"}),
    "item no object": Answer(200, {"kind": "x", "items": ["w0"]}),
    "item without name": Answer(200, {"kind": "x", "items": [{"status": "RUNNING"}]}),
    "no items": Answer(200, {"kind": "compute#instanceList"}),
    "redirect": Answer(302, b"", {"Location": "http://127.0.0.1:1/"}),
    "not found": Answer.error(404, "notFound", "The resource 'projects/demo-project' was not found"),
    "bad token": Answer.error(401, "authError", "Invalid Credentials"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_wrong_answer_is_an_error_that_ends_the_run(tmp_path: Path, name: str) -> None:
    with FakeCompute(fleet(instance("w0"))) as fake:
        fake.script.plant("GET", INSTANCES, MALFORMED[name], forever=True)
        with pytest.raises(AnsibleParserError, match="demo-project"):
            read_inventory(tmp_path, config(fake))
        assert constants.INVENTORY_ANY_UNPARSED_IS_FAILED is True


def test_no_machines_can_be_allowed(tmp_path: Path) -> None:
    assert inventory(tmp_path, Store(), allow_empty=True).hosts == {}
    assert constants.INVENTORY_ANY_UNPARSED_IS_FAILED is False


def test_one_odd_machine_is_listed_and_harms_nobody(tmp_path: Path) -> None:
    read = inventory(tmp_path, fleet(instance("w0"), instance("w1", labels=["no", "mapping"])))
    assert list(read.hosts) == ["w0", "w1"]
    assert read.hosts["w1"]["gce_labels"] == {}
    assert "w1 is listed with few variables" in read.warnings[0]


def test_paging_reads_every_page(tmp_path: Path) -> None:
    names = [f"w{n:04d}" for n in range(1003)]
    store = fleet(*({"name": name, "status": "RUNNING"} for name in names))
    with FakeCompute(store) as fake:
        for zones in ([ZONE], []):
            assert list(read_inventory(tmp_path, config(fake, zones=zones)).hosts) == names
        assert len(fake.log) == 6


def test_zones_are_asked_in_parallel_but_not_more_than_told(tmp_path: Path) -> None:
    """Every answer waits until two questions are open, and then a moment for a third that must not come."""
    zones = [f"us-east1-{letter}" for letter in "abcdef"]
    store = Store()
    for zone in zones:
        fleet(instance(f"w-{zone}"), zone=zone, store=store)
    lock, two, three, seen, is_open = threading.Lock(), threading.Event(), threading.Event(), [0], [0]

    def answering(_request: Request, _status: int) -> None:
        with lock:
            is_open[0] += 1
            seen[0] = max(seen[0], is_open[0])
        if seen[0] >= 2:
            two.set()
        if seen[0] > 2:
            three.set()
        two.wait(timeout=5)
        three.wait(timeout=0.1)
        with lock:
            is_open[0] -= 1

    with FakeCompute(store) as fake:
        fake.on_request = answering
        options = config(fake, zones=zones, workers=2, request_timeout=30, request_deadline=30)
        assert list(read_inventory(tmp_path, options).hosts) == sorted(f"w-{zone}" for zone in zones)
    assert seen == [2]


def test_unknown_health_is_unknown(tmp_path: Path) -> None:
    with FakeCompute(a4x()) as fake:
        fake.script.plant("GET", "reservationSubBlocks", REFUSALS["forbidden"], forever=True)
        read = read_inventory(tmp_path, config(fake))
        assert read.hosts["a4x-a-00"]["gce_sub_block_health"] is None
        assert len(read.warnings) == 1
        assert "the health of projects/demo-project/zones/us-east1-d/reservations/gb200" in read.warnings[0]


@pytest.mark.parametrize(
    ("hostnames", "expected"),
    [
        (["labels.rack", "name"], "r7"),
        (["hostname", "name"], "w0"),
        (["internal_ip"], "10.10.0.9"),
        (["external_ip"], "w0"),
    ],
)
def test_hostnames(tmp_path: Path, hostnames: list[str], expected: str) -> None:
    read = inventory(tmp_path, fleet(instance("w0", labels={"rack": "r7"})), hostnames=hostnames)
    assert list(read.hosts) == [expected]


BAD_OPTIONS = {
    "hostnames": ({"hostnames": ["nickname"]}, "choose from name, hostname, internal_ip, external_ip, labels.KEY"),
    "endpoint": ({"api_endpoint": "compute.googleapis.com"}, "write https://HOST"),
    "plain http": ({"api_endpoint": "http://10.0.0.1", "auth_kind": "application"}, "is not encrypted"),
    "no token": ({"auth_kind": "accesstoken"}, "needs the option access_token"),
    "kind": ({"auth_kind": "magic"}, "magic"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_say_what_is_allowed(tmp_path: Path, name: str) -> None:
    options, message = BAD_OPTIONS[name]
    with pytest.raises(AnsibleError, match=message):
        inventory(tmp_path, fleet(instance("w0")), **options)


def test_an_access_token_is_sent(tmp_path: Path) -> None:
    with FakeCompute(fleet(instance("w0")), token="ya29.right") as fake:
        options = config(fake, auth_kind="accesstoken", access_token="ya29.right")
        assert list(read_inventory(tmp_path, options).hosts) == ["w0"]
        with pytest.raises(AnsibleParserError, match="HTTP 401"):
            read_inventory(tmp_path, {**options, "access_token": "ya29.wrong"})
