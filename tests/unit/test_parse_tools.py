"""The smaller tools: the kinds of text that the recorded ones do not show."""
# ruff: noqa: E501  (lines of tool output are as wide as the tool prints them)

from __future__ import annotations

import json

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.tools import TOOLS

from tests.unit.parse_cases import reading_of, shown

CA = "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n"
PORT = "\tPort 1:\n\t\tState: %s\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: 7\n\t\tSM lid: 2\n\t\tLink layer: InfiniBand\n"
DEVICE = "hca_id:\tmlx5_0\n\tfw_ver:\t28.42.1000\n\tphys_port_cnt:\t1\n"
DEVICE_PORT = (
    "\t\tport:\t1\n\t\t\tstate:\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t4096 (5)\n\t\t\tsm_lid:\t0\n\t\t\tport_lid:\t0\n"
)

FABRIC = "GPU 00000000:0%d:00.0\n    Fabric\n        State : %s\n        Status : %s\n        CliqueId : %s\n        ClusterUUID : %s\n"
UUID = "11111111-2222-3333-4444-555555555555"
TOPOLOGY = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t0-71\t0,2-17\nGPU1\tNV18\t X \t0-71\t0,2-17\n"
QUERY = "index, name, uuid, utilization.gpu [%], power.draw [W], serial\n"

IMEX = (
    "Nodes:\nNode #0   - 192.0.2.1       - READY                - Version: 570.172\n"
    "Node #1   - 192.0.2.2       - UNAVAILABLE\n\n Nodes From\\To  0   1\n       0        C   N\n       1        I   I\n"
)
TABLE_HEAD = (
    "Successfully ran diagnostic for group.\n"
    "+---------------------------+------------------------------------------------+\n"
    "| Diagnostic                | Result                                         |\n"
    "+===========================+================================================+\n"
)
TABLE_END = "+---------------------------+------------------------------------------------+\n"


def row(name: str, value: str) -> str:
    return f"| {name:25s} | {value:46s} |\n"


def ceph(**changes: object) -> str:
    return json.dumps(
        {"health": {"status": "HEALTH_OK", "checks": {}}, "osdmap": {"num_osds": 3}, "pgmap": {"num_pgs": 8}} | changes
    )


CASES = {
    "ibstat_down": ("ibstat", CA + PORT % "Down", {"active_ports": 0, "ok": False, "failure": "no_active_port"}),
    "ibstat_initializing": ("ibstat", CA + PORT % "Initializing", {"active_ports": 0, "ok": False}),
    "ibstat_short_form": ("ibstat", "CA: 'mlx5_0'\nPort 1:\nState: Active\nRate: 400\n", {"active_ports": 1, "ok": True}),
    "ibstat_no_ports": ("ibstat", CA, {"cas": [{"name": "mlx5_0", "ports": []}], "ok": False}),
    "devinfo_cut_in_the_port": ("ibv_devinfo", DEVICE + DEVICE_PORT[:40], {"ok": False, "failure": "partial_output"}),
    "devinfo_grepped": ("ibv_devinfo", "hca_id:\tmlx5_0\n\t\t\tstate:\tPORT_ACTIVE (4)\n", {"ok": False, "failure": "partial_output"}),
    "devinfo_verbose_keys": (
        "ibv_devinfo",
        DEVICE.replace("\tfw_ver", "\tmax_mr_size:\t0xffffffffffffffff\n\tfw_ver") + DEVICE_PORT,
        {"ok": True, "active_ports": 1},
    ),
    "netdev_padded_state": ("ibdev2netdev", "mlx5_0 port 1 ==> ib0 (DOWN  )\n", {"up": 0, "ok": False, "failure": "no_interface_up"}),
    "netdev_cut": ("ibdev2netdev", "mlx5_0 port 1 ==> ib0 (Up)\nmlx5_1 port 1 ==> ib", {"up": 1, "ok": False, "failure": "partial_output"}),
    "topology_grace": ("nvidia-smi", TOPOLOGY, {"gpus": 2, "gpu_links": {"0-1": "NV18"}, "numa": {"GPU0": "0,2-17", "GPU1": "0,2-17"}, "ok": True}),
    "topology_row_missing": ("nvidia-smi", TOPOLOGY.replace("GPU1\tNV18", "lost\tNV18"), {"ok": False, "failure": "partial_output"}),
    "topology_blanks_for_tabs": ("nvidia-smi", TOPOLOGY.replace("\t", "    "), {"gpus": 2, "gpu_links": {"0-1": "NV18"}, "ok": True}),
    "fabric_one_domain": (
        "nvidia-smi",
        FABRIC % (1, "Completed", "Success", 7, UUID) + FABRIC % (2, "Completed", "Success", 7, UUID),
        {"mnnvl": True, "same_nvlink_domain": True, "ok": True, "failure": None},
    ),
    "fabric_two_cliques": (
        "nvidia-smi",
        FABRIC % (1, "Completed", "Success", 7, UUID) + FABRIC % (2, "Completed", "Success", 8, UUID),
        {"same_nvlink_domain": False, "ok": False, "failure": "different_clique"},
    ),
    "fabric_error": ("nvidia-smi", FABRIC % (1, "Completed", "Invalid State", "N/A", "N/A"), {"ok": False, "failure": "fabric_error"}),
    "fabric_not_started": ("nvidia-smi", FABRIC % (1, "Not Started", "N/A", "N/A", "N/A"), {"ok": False, "failure": "fabric_manager_not_ready"}),
    "fabric_recovering": (
        "nvidia-smi",
        FABRIC % (1, "Completed", "Success", 7, UUID) + "        Health\n            Bandwidth : Full\n            Route Recovery in progress : True\n",
        {"ok": False, "failure": "fabric_recovering"},
    ),
    "fabric_degraded": (
        "nvidia-smi",
        FABRIC % (1, "Completed", "Success", 7, UUID) + "        Health\n            Summary : Limited Capacity\n",
        {"ok": False, "failure": "fabric_unhealthy"},
    ),
    "fabric_other_blocks_do_not_count": (
        "nvidia-smi",
        FABRIC % (1, "Completed", "Success", 7, UUID) + "    MIG Mode\n        State : In Progress\n",
        {"command": "-q", "ok": True, "gpus": [{"state": "Completed"}]},
    ),
    "query_nounits": ("nvidia-smi", QUERY + "0, NVIDIA H100, GPU-1, 7, 700.12, 0123\n", {"ok": True, "gpus": [
        {"index": 0, "name": "NVIDIA H100", "utilization_gpu_percent": 7, "power_draw_w": 700.12, "serial": "0123"}]}),
    "query_placeholders": ("nvidia-smi", QUERY + "0, NVIDIA H100, GPU-1, [N/A], [Not Supported], 0123\n", {"ok": True, "gpus": [
        {"utilization_gpu_percent": None, "power_draw_w": None}]}),
    "query_gpu_lost": ("nvidia-smi", QUERY + "0, NVIDIA H100, GPU-1, [GPU is lost], [GPU is lost], 0\n", {"ok": False, "failure": "gpu_lost"}),
    "query_unknown_error": ("nvidia-smi", QUERY + "0, NVIDIA H100, GPU-1, [Unknown Error], 7 W, 0\n", {"ok": False, "failure": "gpu_error"}),
    "gpu_lost_without_a_table": ("nvidia-smi", "Unable to determine the device handle for GPU 0000:85:00.0: GPU is lost.  Reboot the system\n",
        {"ok": False, "failure": "gpu_lost"}),
    "query_cut": ("nvidia-smi", QUERY + "0, NVIDIA H100, GPU-1, 7 %, 700 W, 0\n1, NVIDIA H", {"ok": False, "failure": "partial_output"}),
    "query_no_gpu": ("nvidia-smi", QUERY, {"ok": False, "failure": "no_gpu"}),
    "imex_down": ("nvidia-imex-ctl", IMEX + "Domain State: DOWN\n", {"domain_state": "DOWN", "nodes": 2, "ready": 1, "ok": False, "failure": "domain_down",
        "not_connected": [[0, 1, "NEVER_CONNECTED"], [1, 0, "INVALID"], [1, 1, "INVALID"]]}),
    "imex_degraded": ("nvidia-imex-ctl", IMEX + "Domain State: DEGRADED\n", {"ok": False, "failure": "domain_degraded"}),
    "imex_glued_debug_text": ("nvidia-imex-ctl", IMEX.replace("UNAVAILABLE", "READY") + "Domain State: UPDEBUG: closing\n", {"domain_state": "UP", "ok": True}),
    "imex_cut": ("nvidia-imex-ctl", IMEX, {"domain_state": None, "ok": False, "failure": "truncated"}),
    "imex_daemon_ready_is_no_verdict": ("nvidia-imex-ctl", "READY\n", {"daemon_state": "READY", "domain_state": None, "ok": None}),
    "imex_daemon_waiting": ("nvidia-imex-ctl", "WAITING_FOR_PEERS\n", {"ok": False, "failure": "daemon_not_ready"}),
    "dcgm_table_fail": (
        "dcgmi",
        TABLE_HEAD + row("DCGM Version", "3.3.9") + "|-----  Stress  ------------+------------------------------------------------|\n"
        + row("Memory", "Pass - All") + row("PCIe", "Fail - GPU: 3") + row("Warning", "GPU 3 runs at a link width of 8, wan")
        + row("", "ted 16") + TABLE_END,
        {"tests": {"Memory": "Pass", "PCIe": "Fail"}, "failed_gpus": [3], "ok": False, "failure": "failed"},
    ),
    "dcgm_table_skip": ("dcgmi", TABLE_HEAD + row("EUD Test", "Skip - All") + TABLE_END, {"ok": False, "tests": {"EUD Test": "Skip"}}),
    "dcgm_table_cut": ("dcgmi", TABLE_HEAD + row("Memory", "Pass - All"), {"ok": False, "failure": "truncated"}),
    "dcgm_json_worst_result": ("dcgmi", json.dumps({"DCGM GPU Diagnostic": {"test_categories": [{"tests": [{"name": "PCIe", "results": [
        {"gpu_ids": "0", "status": "Pass"}, {"gpu_ids": "1,2", "status": "Fail"}, {"gpu_ids": "3", "status": "Skip"}]}]}]}}),
        {"tests": {"PCIe": "Fail"}, "failed_gpus": [1, 2], "ok": False}),
    "vmtouch_touch": ("vmtouch", "           Files: 3\n     Directories: 1\n   Touched Pages: 9971 (38M)\n         Elapsed: 1.5e-05 seconds\n",
        {"touched_pages": 9971, "elapsed_s": 1.5e-05, "ok": True}),
    "vmtouch_no_pages": ("vmtouch", "           Files: 1\n     Directories: 0\n  Resident Pages: 0/0  0/0\n         Elapsed: 2e-05 seconds\n",
        {"resident_pages": 0, "percent": None, "ok": True}),
    "vmtouch_error": ("vmtouch", "vmtouch: WARNING: unable to stat /x (No such file or directory)\n           Files: 0\n", {"ok": False, "failure": "error"}),
    "vmtouch_cut": ("vmtouch", "           Files: 3\n     Directories: 1\n", {"ok": False, "failure": "partial_output"}),
    "ceph_before_luminous": ("ceph", ceph(health={"overall_status": "HEALTH_WARN", "summary": [{"severity": "HEALTH_WARN", "summary": "1 near full osd(s)"}]}),
        {"health": "HEALTH_WARN", "checks": ["1 near full osd(s)"], "ok": False, "failure": "HEALTH_WARN"}),
    "ceph_error": ("ceph", ceph(health={"status": "HEALTH_ERR", "checks": {"MON_DOWN": {}}}), {"ok": False, "failure": "HEALTH_ERR"}),
    "ceph_scrubbing_is_clean": ("ceph", ceph(pgmap={"num_pgs": 9, "pgs_by_state": [{"state_name": "active+clean", "count": 8},
        {"state_name": "active+clean+scrubbing", "count": 1}]}), {"pgs": 9, "pgs_active_clean": 9, "ok": True}),
    "ceph_no_health": ("ceph", '{"osdmap": {"num_osds": 3}}', {"ok": False, "health": None, "num_osds": 3}),
    "netplan_offline": ("netplan", '{"netplan-global-state": {"online": false}, "lo": {"operstate": "UNKNOWN", "adminstate": "UP"}}', {"ok": False, "failure": "offline"}),
    "netplan_unmanaged_down": ("netplan", '{"netplan-global-state": {"online": true}, "docker0": {"operstate": "DOWN", "adminstate": "UP"}}', {"ok": True}),
    "netplan_text_down": ("netplan", "     Online state: online\n\n●  2: ens3 ethernet DOWN/UP (networkd: ens3)\n", {"ok": False, "failure": "link_down"}),
    "ip_addresses": ("ip-json", '[{"ifname": "eth0", "flags": ["UP", "LOWER_UP"], "addr_info": [{"local": "192.0.2.1", "prefixlen": 24}]}]',
        {"interfaces": {"eth0": {"carrier": True, "addresses": ["192.0.2.1/24"]}}, "ok": True}),
    "ip_set_down_is_no_failure": ("ip-json", '[{"ifname": "eth0", "flags": ["BROADCAST"]}]', {"interfaces": {"eth0": {"carrier": False}}, "ok": True}),
    "ip_no_interfaces": ("ip-json", "[{}]", {"ok": False, "failure": "no_interfaces"}),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "text", "want"), CASES.values(), ids=CASES)
def test_kind(tool: str, text: str, want: dict[str, object]) -> None:
    assert shown(want, reading_of(tool, text)) == want


NOT_OURS = {
    "empty": "",
    "blank": "\n\n",
    "binary": "\x7fELF\x02\x01\x00\x00\ufffd\ufffd\n\x00\x00",
    "missing_program": "bash: line 1: the-tool: command not found\n",
    "error_with_exit_0": "Error: Unable to establish a connection to the specified host: localhost\n",
    "other_json": '{"answer": 42}\n',
}


@pytest.mark.parametrize("tool", sorted(TOOLS))
@pytest.mark.parametrize("text", NOT_OURS.values(), ids=NOT_OURS)
def test_what_the_tool_did_not_print_is_never_a_reading(tool: str, text: str) -> None:
    with pytest.raises(ParseError) as caught:
        reading_of(tool, text)
    assert caught.value.tool
    assert ": " in str(caught.value)
