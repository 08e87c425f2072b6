"""What is run: command lines, environment, hostfile, SSH files, plan. Nothing is started here."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError, MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.backend import namesakes
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.command import (
    hostfile,
    mpi_major,
    mpirun_argv,
    srun_argv,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.environment import forwarded, shown, variables
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.program import program_problems
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.run import Host, Run, read_run
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.trust import (
    authorize,
    check_id,
    entry,
    known_hosts,
    revoke,
    ssh_config,
)
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.nccl_plan import Fleet, plan_runs

PROGRAM = "/opt/nccl-tests/build/all_reduce_perf"
SAME = {"programs": {PROGRAM: {"sha256": "ab" * 32, "mpi": "libmpi.so.40", "problem": None}}}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample"


def host(name: str, number: int, domain: str | None = "d1", **session: Any) -> Host:
    return Host(name, f"10.0.1.{number}", 4, domain, {**SAME, "host_keys": [f"{KEY}{number}"], **session})


RUN = Run(
    "two trays", "nvlink_domain", "all_reduce", (host("w1", 21), host("w2", 22)), PROGRAM, sku="GB200", mnnvl=True
)


def test_open_mpi_4() -> None:
    run = dataclasses.replace(RUN, bootstrap_network="10.0.1.0/24", timeout=60)
    assert mpirun_argv(run, ["NCCL_DEBUG", "GPUFLEET_RUN"], 4, "/run/gpufleet/r1") == [
        *("timeout", "-k", "5", "70"),
        *("mpirun", "--allow-run-as-root", "-np", "8", "--hostfile", "/run/gpufleet/r1/hostfile"),
        *("--map-by", "slot", "--bind-to", "none"),
        *("--mca", "plm_rsh_args", "-F /run/gpufleet/r1/ssh_config", "--mca", "plm_rsh_no_tree_spawn", "1"),
        *("--mca", "oob_tcp_if_include", "10.0.1.0/24"),
        *("--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp", "--mca", "btl_tcp_if_include", "10.0.1.0/24"),
        *("-x", "NCCL_DEBUG", "-x", "GPUFLEET_RUN"),
        *("timeout", "-k", "5", "60"),
        *(PROGRAM, "-b", "512M", "-e", "16G", "-f", "2", "-g", "1", "-n", "20", "-w", "5", "-c", "1"),
    ]


def test_open_mpi_5_takes_the_same_under_other_names() -> None:
    run = dataclasses.replace(RUN, bootstrap_network="10.0.1.0/24", data_network="10.0.9.0/24")
    argv = " ".join(mpirun_argv(run, [], 5, "/run/gpufleet/r1"))
    assert "--prtemca plm_ssh_args -F /run/gpufleet/r1/ssh_config --prtemca plm_ssh_no_tree_spawn 1" in argv
    assert "--prtemca prte_if_include 10.0.1.0/24" in argv
    assert "--mca btl self,sm,tcp --mca btl_tcp_if_include 10.0.9.0/24" in argv


def test_one_node_needs_no_ssh() -> None:
    run = dataclasses.replace(RUN, scope="single_node", hosts=RUN.hosts[:1])
    assert not [word for word in mpirun_argv(run, [], 4, "/run/x", remote=False) if "plm" in word]


def test_srun() -> None:
    assert srun_argv(dataclasses.replace(RUN, launcher="srun", timeout=90))[:10] == [
        *("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--label", "--export=ALL"),
        *("--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--nodelist=w1,w2", "--time=3"),
    ]


def test_hostfile() -> None:
    assert hostfile(RUN.hosts) == "10.0.1.21 slots=4\n10.0.1.22 slots=4\n"


VERSIONS = {
    "4": ("mpirun (Open MPI) 4.1.7a1\n\nReport bugs to ...", 4),
    "5": ("mpirun (Open MPI) 5.0.7\n", 5),
    "mpich": ("HYDRA build details:\n    Version: 4.2.0\n", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "want"), VERSIONS.values(), ids=VERSIONS)
def test_mpi_major(text: str, want: int | None) -> None:
    if want is None:
        with pytest.raises(MeasureError, match="this needs Open MPI 4 or 5"):
            mpi_major(text)
    else:
        assert mpi_major(text) == want


DEBUG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET"}
ENVIRONMENTS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "one_node": ({"mnnvl": None}, DEBUG),
    # The mode is stated: 2 would fall back in silence.
    "mnnvl_on": ({"mnnvl": True}, DEBUG | {"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1"}),
    "mnnvl_off": ({"mnnvl": False}, DEBUG | {"NCCL_MNNVL_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"}),
    # Exactly this interface: eth1 alone would also mean eth10.
    "interface": ({"mnnvl": None, "interface": "eth0"}, DEBUG | {"NCCL_SOCKET_IFNAME": "=eth0"}),
    "debug_profile": (
        {"mnnvl": None, "debug": True},
        DEBUG | {"NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET,GRAPH,TUNING,P2P,SHM,NVLS"},
    ),
    "the_runs_own_wins": (
        {"mnnvl": None, "environment": {"NCCL_DEBUG": "WARN", "LD_LIBRARY_PATH": "/usr/local/gib/lib64"}},
        DEBUG | {"NCCL_DEBUG": "WARN", "LD_LIBRARY_PATH": "/usr/local/gib/lib64"},
    ),
}


@pytest.mark.parametrize(("changes", "want"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_environment(changes: dict[str, Any], want: dict[str, str]) -> None:
    assert variables(dataclasses.replace(RUN, **changes)) == want


def test_every_nccl_variable_of_the_launching_host_is_forwarded_and_no_other() -> None:
    inherited = {"NCCL_IB_GID_INDEX": "3", "NCCL_NET": "gIB", "AWS_SECRET_ACCESS_KEY": "x", "PATH": "/bin"}
    values = variables(dataclasses.replace(RUN, mnnvl=None), inherited)
    assert values == DEBUG | {"NCCL_IB_GID_INDEX": "3", "NCCL_NET": "gIB"}
    assert forwarded(values) == ["GPUFLEET_RUN", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_IB_GID_INDEX", "NCCL_NET"]


def test_what_a_variable_holds_stands_in_no_command_line_and_reports_show_only_what_is_known() -> None:
    values = variables(dataclasses.replace(RUN, environment={"HF_TOKEN": "hf_secret", "NCCL_ALGO": "RING"}))
    assert "hf_secret" not in " ".join(mpirun_argv(RUN, forwarded(values), 5, "/run/x"))
    assert "HF_TOKEN" not in shown(values)
    assert shown(values)["NCCL_ALGO"] == "RING"


BAD_ENVIRONMENTS = {
    "mode_2": ({"NCCL_MNNVL_ENABLE": "2"}, "allowed: 1 or 0"),
    "prefix": ({"NCCL_SOCKET_IFNAME": "ib0,ib1"}, "write =ib0,ib1"),
    "name": ({"NCCL DEBUG": "x"}, "no name of a variable"),
}


@pytest.mark.parametrize(("environment", "want"), BAD_ENVIRONMENTS.values(), ids=BAD_ENVIRONMENTS)
def test_environment_that_proves_nothing_is_refused(environment: dict[str, str], want: str) -> None:
    with pytest.raises(ConfigError, match=want):
        variables(dataclasses.replace(RUN, environment=environment))


def session(**changes: Any) -> dict[str, Any]:
    return {"programs": {PROGRAM: {**SAME["programs"][PROGRAM], **changes}}}


PROGRAMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "same": (SAME, []),
    "another_build": (
        session(sha256="cd" * 32),
        [f"{PROGRAM} is not the same program everywhere: sha256 abababababab on w1; cdcdcdcdcdcd on w2"],
    ),
    "without_mpi": (
        session(mpi=None),
        [f"w2: {PROGRAM} is not linked with MPI (ldd shows no libmpi): build it with MPI=1"],
    ),
    "not_there": (
        session(sha256=None, problem=f"{PROGRAM}: no such file or directory"),
        [f"w2: {PROGRAM}: no such file or directory"],
    ),
    "not_prepared": ({}, ["w2 was not prepared for this run"]),
}


@pytest.mark.parametrize(("second", "want"), PROGRAMS.values(), ids=PROGRAMS)
def test_program_is_the_same_everywhere_and_speaks_mpi(second: dict[str, Any], want: list[str]) -> None:
    assert program_problems([host("w1", 21), Host("w2", "10.0.1.22", 4, None, second)], PROGRAM) == want


def test_hosts_that_call_themselves_the_same_are_named() -> None:
    hosts = [host("w1", 21, hostname="debian"), host("w2", 22, hostname="debian"), host("w3", 23, hostname="w3")]
    (problem,) = namesakes([*hosts, host("w4", 24)])
    assert problem.startswith("w1, w2 all call themselves debian: give each host a name of its own")
    assert namesakes(hosts[1:]) == []


BAD_RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "scope": ({"scope": "rack"}, "allowed: single_node, nvlink_domain, cross_domain, mixed"),
    "size": ({"max_bytes": "16GB"}, "a number of bytes, with K, M or G"),
    "two_hosts_in_one_node": ({"scope": "single_node"}, "scope single_node has 2 hosts"),
    "address_that_is_an_option": (
        {"hosts": [{"name": "w1", "address": "-oProxyCommand=x"}]},
        "host 'w1' has address '-oProxyCommand=x'",
    ),
    "relative_program": ({"program": "build/all_reduce_perf"}, "the whole path"),
    "no_host": ({"hosts": []}, "at least one"),
}
GOOD_RUN = {
    "name": "x", "scope": "cross_domain", "program": PROGRAM, "collective": "all_reduce",
    "hosts": [{"name": "w1", "address": "10.0.1.21"}, {"name": "w2", "address": "10.0.1.22"}],
}  # fmt: skip


@pytest.mark.parametrize(("changes", "want"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_a_run_that_cannot_be_is_refused_before_it_starts(changes: dict[str, Any], want: str) -> None:
    assert read_run(GOOD_RUN).ranks == 2
    with pytest.raises(ConfigError, match=want):
        read_run({**GOOD_RUN, **changes})


ENTRY = (
    'restrict,expiry-time="20261130235900",command="env GPUFLEET_RUN=r1 sh -c \\"$SSH_ORIGINAL_COMMAND\\"",'
    f'from="10.0.1.21" {KEY} gpufleet:r1'
)


def test_entry_is_bound_to_run_time_and_launcher() -> None:
    assert entry(KEY, "r1", "20261130235900", ["10.0.1.21"]) == ENTRY


OLD = "ssh-rsa AAAA me@laptop\n"
EXPIRED = f'restrict,expiry-time="20260101000000" {KEY} gpufleet:r0\n'
AUTHORIZED = {
    "empty": ("", f"{ENTRY}\n", ""),
    "beside_a_users_key": (OLD, f"{OLD}{ENTRY}\n", OLD),
    "without_newline_at_the_end": (OLD.rstrip(), f"{OLD}{ENTRY}\n", OLD),
    "takes_out_what_has_expired": (f"{EXPIRED}{OLD}", f"{OLD}{ENTRY}\n", OLD),
    "once_only": (f"{OLD}{ENTRY}\n", f"{OLD}{ENTRY}\n", OLD),
}


@pytest.mark.parametrize(("before", "during", "after"), AUTHORIZED.values(), ids=AUTHORIZED)
def test_authorized_keys(before: str, during: str, after: str) -> None:
    found = authorize(before, [ENTRY], "r1", "20261130220000")
    assert found == during
    assert revoke(found, "r1", "20261130220000") == after


@pytest.mark.parametrize("run_id", ["", "a b", "../x", "x;y", "-x", "x\n"])
def test_run_id_is_harmless(run_id: str) -> None:
    with pytest.raises(ConfigError, match="run_id"):
        check_id(run_id)


def test_an_unknown_host_key_is_refused_and_none_is_scanned() -> None:
    config = ssh_config("/run/gpufleet/r1/id_ed25519", "/run/gpufleet/r1/known_hosts", 22)
    assert "  StrictHostKeyChecking yes\n" in config
    assert "  UserKnownHostsFile /run/gpufleet/r1/known_hosts\n" in config
    assert known_hosts(RUN.hosts, 22) == f"10.0.1.21 {KEY}21\n10.0.1.22 {KEY}22\n"
    assert known_hosts(RUN.hosts[:1], 2222) == f"[10.0.1.21]:2222 {KEY}21\n"


NETWORKS = {
    "management": {"hosts": {f"w{n}": {"addresses": [f"10.0.1.{20 + n}/24"], "interface": "eth0"} for n in range(1, 5)}}
}
FLEET = Fleet(NETWORKS, {"nvl_d1": ["w1", "w2"], "nvl_d2": ["w3", "w4"]}, ["w1", "w2", "w3", "w4"])
DEFAULTS = {
    "directory": "/opt/n", "collective": "all_reduce", "ranks_per_host": 4, "network": "management", "data_network": "",
}  # fmt: skip
ALL = ["w1", "w2", "w3", "w4"]
PLANS: dict[str, tuple[dict[str, Any], list[list[tuple[str, str]]]]] = {
    "each_node_by_itself_all_at_once": (
        {"scope": "single_node", "hosts": ALL},
        [[(f"all_reduce single_node w{n}", f"w{n}") for n in range(1, 5)]],
    ),
    "domains_beside_each_other_with_mnnvl_on_and_off": (
        {"scope": "nvlink_domain", "hosts": ALL},
        [
            [("all_reduce nvlink_domain d1, MNNVL on", "w1"), ("all_reduce nvlink_domain d2, MNNVL on", "w3")],
            [("all_reduce nvlink_domain d1, MNNVL off", "w1"), ("all_reduce nvlink_domain d2, MNNVL off", "w3")],
        ],
    ),
    "across_domains": (
        {"scope": "cross_domain", "hosts": ["w2", "w4"]},
        [[("all_reduce cross_domain w2 to w4, MNNVL off", "w2")]],
    ),
    "mixed_states_its_mode": ({"scope": "mixed", "hosts": ALL}, [[("all_reduce mixed w1 to w4, MNNVL on", "w1")]]),
    "no_mode": (
        {"scope": "cross_domain", "hosts": ["w1", "w3"], "mnnvl": []},
        [[("all_reduce cross_domain w1 to w3", "w1")]],
    ),
}


@pytest.mark.parametrize(("wanted", "want"), PLANS.values(), ids=PLANS)
def test_plan(wanted: dict[str, Any], want: list[list[tuple[str, str]]]) -> None:
    plan = plan_runs([wanted], DEFAULTS, FLEET)
    assert [[(run["name"], run["launcher_host"]) for run in one] for one in plan["rounds"]] == want
    assert plan["programs"] == ["/opt/n/all_reduce_perf"]


def test_runs_over_the_network_take_turns() -> None:
    pairs = [{"scope": "cross_domain", "hosts": ["w1", "w3"]}, {"scope": "cross_domain", "hosts": ["w2", "w4"]}]
    assert [len(one) for one in plan_runs(pairs, DEFAULTS, FLEET)["rounds"]] == [1, 1]


def test_a_run_in_full() -> None:
    plan = plan_runs([{"scope": "cross_domain", "hosts": ["w1", "w3"], "sku": "GB200"}], DEFAULTS, FLEET)
    assert plan["rounds"][0][0] == {
        "name": "all_reduce cross_domain w1 to w3, MNNVL off", "scope": "cross_domain", "sku": "GB200",
        "collective": "all_reduce", "program": "/opt/n/all_reduce_perf", "mnnvl": False, "interface": "eth0",
        "bootstrap_network": "10.0.1.0/24", "data_network": None, "launcher_host": "w1",
        "launcher_address": "10.0.1.21",
        "hosts": [
            {"name": "w1", "address": "10.0.1.21", "slots": 4, "domain": "d1"},
            {"name": "w3", "address": "10.0.1.23", "slots": 4, "domain": "d2"},
        ],
    }  # fmt: skip


def test_another_host_launches_when_the_first_is_not_available() -> None:
    fleet = dataclasses.replace(FLEET, available=["w4", "w3"])
    (run,) = plan_runs([{"scope": "mixed", "hosts": ALL}], DEFAULTS, fleet)["rounds"][0]
    assert (run["launcher_host"], run["launcher_address"]) == ("w3", "10.0.1.23")


def test_a_run_without_any_available_host_is_left_to_the_report() -> None:
    wanted = [{"scope": "single_node", "hosts": ["w1"]}]
    assert plan_runs(wanted, DEFAULTS, dataclasses.replace(FLEET, available=["w2"]))["rounds"] == []


BAD_PLANS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "scope": ([{"scope": "rack", "hosts": ALL}], "allowed: single_node"),
    "key": ([{"scope": "mixed", "host": ALL}], "unknown: host; keys are"),
    "no_domain": ([{"scope": "nvlink_domain", "hosts": ["w9"]}], "w9 is in no group nvl_<domain>"),
    "pods": (
        [{"scope": "mixed", "hosts": ALL, "launcher": "pods"}],
        "launcher pods is for the module nccl_test by itself",
    ),
    "no_address": ([{"scope": "mixed", "hosts": ["w9"]}], "w9 has no address on network 'management'"),
    "same_name": ([{"scope": "mixed", "hosts": ALL}] * 2, "two runs have the name"),
}


@pytest.mark.parametrize(("wanted", "want"), BAD_PLANS.values(), ids=BAD_PLANS)
def test_a_plan_that_cannot_be_is_refused(wanted: list[dict[str, Any]], want: str) -> None:
    with pytest.raises(ConfigError, match=want):
        plan_runs(wanted, DEFAULTS, FLEET)
