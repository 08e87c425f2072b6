"""Collectives in pods, with real processes: a fake kubectl runs what is to run in a pod in a session of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError, MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.bandwidth import load_limits
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.nccl import Measure, judge_run
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.attempt import read_attempt
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.kubectl import Kubectl
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.launch import Ended, ProcessLauncher
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.measure import (
    Measurement,
    Place,
    Tools,
    describe,
    measure,
    planned,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.processes import end_marked, marked
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.run import Host, Pods, Run, read_run
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult, SubprocessRunner
from ansible_collections.gpufleet.cluster.plugins.modules import nccl_test

from tests.fakes.runner import FakeRunner
from tests.unit import nccl_log as log

FAKES = Path(__file__).resolve().parents[1] / "fakes" / "bin"
RUN_ID = f"pods-{os.getpid()}"
LIMIT = {
    "sku": "H100", "scope": "cross_domain", "collective": "all_reduce", "ranks": 8, "nodes": 2,
    "size_bytes": 17179869184, "statistic": "row_at_size", "value": 430, "unit": "GB/s", "source": "here", "date": "x",
}  # fmt: skip
# As the real one: asks for a daemon in each other pod of its hostfile, through the agent, and waits for it.
MPIRUN = """#!/bin/sh
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 5.0.7"; exit; fi
echo "$@" > {tmp}/mpirun-argv; env > {tmp}/mpirun-env
while [ $# -gt 0 ]; do
  case $1 in --hostfile) hostfile=$2;; plm_ssh_agent) agent=$2;; esac
  shift
done
for pod in $(cut -d ' ' -f 1 $hostfile | tail -n +2); do
  $agent $pod 'export DAEMON=1 ; {daemon}' || exit 1
done
{body}
"""
WAIT = "until [ -e {tmp}/daemon ]; do sleep 0.1; done\n"
GOOD = WAIT + f"cat <<'END'\n{log.good()}END\n"
DAEMON = "env > {tmp}/daemon-env && mv {tmp}/daemon-env {tmp}/daemon"


class Cluster:
    """Two pods, whose programs are in ``bin``."""

    def __init__(self, tmp: Path) -> None:
        self.tmp = tmp
        self.program = str(tmp / "all_reduce_perf")
        self.bin = tmp / "bin"
        self.calls = tmp / "calls"
        self.pods: dict[str, dict[str, Any]] = {
            name: {"path": str(self.bin), "environment": {"NCCL_NET": "gIB"}} for name in ("nccl-0", "nccl-1")
        }
        self.more: dict[str, Any] = {"calls": str(self.calls)}
        self.bin.mkdir()
        self.tool("ldd", "echo 'libmpi.so.40 => /lib/libmpi.so.40 (0x00)'")
        self.tool("uname", 'echo "$HOSTNAME"')
        Path(self.program).write_text("the program")
        Path(self.program).chmod(0o755)
        self.mpirun(GOOD)

    def tool(self, name: str, body: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / name).chmod(0o755)

    def mpirun(self, body: str, daemon: str = DAEMON) -> None:
        text = MPIRUN.replace("{body}", body).replace("{daemon}", daemon).replace("{tmp}", str(self.tmp))
        (self.bin / "mpirun").write_text(text)
        (self.bin / "mpirun").chmod(0o755)

    def run(self, **changes: Any) -> Run:
        hosts = tuple(Host(name, name, 4) for name in ("nccl-0", "nccl-1"))
        values = {"sku": "H100", "launcher": "pods", "pods": Pods("ns", "test"), "timeout": 60, **changes}
        return Run("in pods", "cross_domain", "all_reduce", values.pop("hosts", hosts), self.program, **values)

    def measure(self, launcher: Any = None, **changes: Any) -> Measurement:
        (self.tmp / "kube.json").write_text(json.dumps({"pods": self.pods, **self.more}))
        here = {**os.environ, "FAKE_KUBE": str(self.tmp / "kube.json"), "NCCL_NET": "of-this-host"}
        tools = Tools(SubprocessRunner(), launcher or ProcessLauncher(watched=None, grace=0.5), here)
        return measure(self.run(**changes), tools, Place(RUN_ID, str(self.tmp / "session"), str(self.tmp / "logs")))

    def judged(self, found: Measurement) -> tuple[str, str]:
        record = describe(self.run(), [found])
        attempts = [read_attempt(each) for each in record["attempts"]]
        _shown, (finding, *_more) = judge_run("cp-1", record, attempts, Measure(load_limits([LIMIT])))
        return finding.severity.name, finding.message


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    here = tmp_path / "here"
    here.mkdir()
    shutil.copy(FAKES / "kubectl", here / "kubectl")
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_KUBE", str(tmp_path / "kube.json"))
    yield Cluster(tmp_path)
    end_marked(RUN_ID)


def test_good_run(cluster: Cluster) -> None:
    found = cluster.measure()
    assert (found.state, found.problem, found.rc, found.killed) == ("measured", None, 0, ())
    assert cluster.judged(found)[0] == "OK"
    assert Path(str(found.log)).read_text() == log.good()
    assert marked(RUN_ID) == []
    assert not Path(f"/tmp/gpufleet-{RUN_ID}").exists()


def environment(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def test_every_nccl_variable_of_the_pods_is_forwarded_and_none_of_this_host(cluster: Cluster) -> None:
    cluster.measure(environment={"HF_TOKEN": "hf_secret; $(touch x) 'y", "NCCL_ALGO": "RING"})
    seen = environment(cluster.tmp / "mpirun-env")
    assert {name: seen[name] for name in ("NCCL_NET", "NCCL_ALGO", "NCCL_DEBUG", "HF_TOKEN", "GPUFLEET_RUN")} == {
        "NCCL_NET": "gIB", "NCCL_ALGO": "RING", "NCCL_DEBUG": "INFO", "HF_TOKEN": "hf_secret; $(touch x) 'y",
        "GPUFLEET_RUN": RUN_ID,
    }  # fmt: skip
    argv = (cluster.tmp / "mpirun-argv").read_text()
    assert all(f"-x {name} " in argv for name in ("NCCL_NET", "NCCL_ALGO", "NCCL_DEBUG", "HF_TOKEN", "GPUFLEET_RUN"))
    assert "hf_secret" not in cluster.calls.read_text()


def test_the_other_pods_are_entered_from_here_and_marked(cluster: Cluster) -> None:
    cluster.measure()
    seen = environment(cluster.tmp / "daemon")
    assert (seen["HOSTNAME"], seen["GPUFLEET_RUN"], seen["DAEMON"]) == ("nccl-1", RUN_ID, "1")
    calls = [json.loads(line) for line in cluster.calls.read_text().splitlines()]
    assert {tuple(call[1:2]) for call in calls} == {("--namespace=ns",)}
    assert {call[call.index("--container") + 1] for call in calls if "exec" in call} == {"test"}


def test_no_ssh_in_pods_so_no_key_has_to_be_in_the_right_home_with_the_right_owner(cluster: Cluster) -> None:
    """A Secret mounted on /root/.ssh is of no use to an image that runs as user 1000. Nothing is needed here."""
    cluster.tool("ssh", f"touch {cluster.tmp}/ssh-was-called")
    home = cluster.tmp / "home"
    home.mkdir(mode=0o500)
    for pod in cluster.pods.values():
        pod["environment"]["HOME"] = str(home)
    assert cluster.measure().state == "measured"
    assert not (cluster.tmp / "ssh-was-called").exists()
    assert list(home.iterdir()) == []
    said = cluster.calls.read_text()
    assert ".ssh" not in said
    assert "id_ed25519" not in said


def without_kubectl(cluster: Cluster) -> None:
    (cluster.tmp / "here" / "kubectl").unlink()
    os.environ["PATH"] = str(cluster.tmp / "here")


def kubectl_not_executable(cluster: Cluster) -> None:
    (cluster.tmp / "here" / "kubectl").chmod(0o644)
    os.environ["PATH"] = str(cluster.tmp / "here")


def pod(name: str, **values: Any) -> Any:
    return lambda cluster: cluster.pods[name].update(values)


FORBIDDEN = (
    'Error from server (Forbidden): pods "nccl-0" is forbidden: User "x" cannot create resource "pods/exec" in API '
    'group "" in the namespace "ns"'
)
REFUSED: dict[str, tuple[Any, str]] = {
    "kubectl_is_missing": (without_kubectl, "kubectl is not installed on this host"),
    "kubectl_is_not_executable": (kubectl_not_executable, "Permission denied"),
    "pod_is_not_there": (lambda cluster: cluster.pods.pop("nccl-1"), "pod nccl-1 is not there: look at namespace"),
    "pod_is_pending": (pod("nccl-1", phase="Pending"), "pod nccl-1 is Pending, not Running"),
    "container_is_not_there": (pod("nccl-1", containers=["a", "b"]), "nccl-1 has no container test; it has: a, b"),
    "container_crashes": (
        pod("nccl-0", state={"waiting": {"reason": "CrashLoopBackOff"}}),
        "container test of pod nccl-0 does not run: waiting CrashLoopBackOff",
    ),
    "forbidden": (
        lambda cluster: cluster.more.update(error=FORBIDDEN),
        "the user of this kubeconfig needs get on pods and create on pods/exec",
    ),
    "forbidden_to_enter": (
        pod("nccl-0", exec_error=["sh -c", FORBIDDEN]),
        "pod nccl-0: kubectl ended with exit status",
    ),
    "api_server_is_gone": (
        lambda cluster: cluster.more.update(error="The connection to the server 10.0.0.1:6443 was refused"),
        "looking for the pods: kubectl ended with exit status 1: The connection to the server",
    ),
    "no_shell_in_the_image": (
        pod("nccl-1", exec_error=["sh -c", 'exec: "sh": executable file not found in $PATH: unknown']),
        'pod nccl-1: kubectl ended with exit status 1: exec: "sh": executable file not found',
    ),
    "not_linked_with_mpi": (
        lambda cluster: cluster.tool("ldd", "echo 'libnccl.so.2 => /lib/x'"),
        "all_reduce_perf is not linked with MPI",
    ),
    "another_program": (
        lambda cluster: cluster.tool("sha256sum", 'echo "$HOSTNAME$HOSTNAME  x"'),
        "is not the same program everywhere: sha256 nccl-0nccl-0 on nccl-0; nccl-1nccl-1 on nccl-1",
    ),
    "no_program": (lambda cluster: Path(cluster.program).unlink(), "all_reduce_perf: no such file or directory"),
    "program_is_not_executable": (lambda cluster: Path(cluster.program).chmod(0o644), "perf: not executable"),
    "another_host_name": (
        lambda cluster: cluster.tool("uname", "echo node-7"),
        "pod nccl-0 calls itself node-7: give that as its name",
    ),
    "no_mpirun": (
        lambda cluster: cluster.tool("mpirun", 'echo "mpirun: not found" >&2; exit 127'),
        "pod nccl-0: kubectl ended with exit status 127: mpirun: not found",
    ),
    "another_mpi": (lambda cluster: cluster.tool("mpirun", "echo HYDRA"), "this needs Open MPI 4 or 5"),
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_keeps_a_run_from_starting(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, change: Any, problem: str
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    change(cluster)
    found = cluster.measure()
    assert (found.state, found.log) == ("not_started", None)
    assert problem in str(found.problem)
    assert cluster.judged(found)[0] == "UNKNOWN"


POD = json.dumps(
    {
        "metadata": {"name": "nccl-0"},
        "spec": {"containers": [{"name": "test"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "test", "state": {"running": {}}}]},
    }
)
KUBECTL = {
    "good": (CommandResult(0, POD, ""), None),
    "prints_nothing": (CommandResult(0, "", ""), "pod nccl-0 is not there"),
    "exit_0_with_an_error_text": (CommandResult(0, "error: no configuration", ""), "printed what is no list of pods"),
    "other_json": (CommandResult(0, '{"items": [{"kind": "Pod"}]}', ""), "printed what is no list of pods"),
    "exit_1_with_a_good_list": (CommandResult(1, POD, "Unable to connect"), "exit status 1: Unable to connect"),
    "hangs": (CommandResult(124, POD, "kubectl: no end after 60 s"), "kubectl gave no answer within 60 s"),
    "floods": (CommandResult(153, POD, "kubectl: ended after 64 MiB of output"), "ended after 64 MiB of output"),
}


@pytest.mark.parametrize(("answer", "problem"), KUBECTL.values(), ids=KUBECTL)
def test_what_kubectl_does(answer: CommandResult, problem: str | None) -> None:
    kubectl = Kubectl(FakeRunner({("kubectl", "get", "pods", "--output=json", "nccl-0"): answer}), Pods())
    try:
        found = "; ".join(kubectl.not_running(["nccl-0"]))
    except MeasureError as exc:
        found = str(exc)
    assert problem in found if problem else found == ""


class Soon:
    """The margin over the run's own limit is for real fleets."""

    def __init__(self, launcher: ProcessLauncher) -> None:
        self._launcher = launcher

    def launch(self, argv: Any, environment: Any, log: str, timeout: float, beside: Any = None) -> Ended:
        return self._launcher.launch(argv, environment, log, 4, beside)


STUBBORN = 'trap "" TERM HUP; echo here > {tmp}/daemon; while :; do sleep 300; done'


def test_one_that_hangs_is_ended_in_all_pods_although_kubectl_only_ends_here(cluster: Cluster) -> None:
    cluster.mpirun(WAIT + "echo started; trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 300' & sleep 300", STUBBORN)
    found = cluster.measure(Soon(ProcessLauncher(watched=None, grace=0.5)), timeout=30)
    assert (found.state, found.tail) == ("timeout", ("started",))
    assert marked(RUN_ID) == []
    assert [line for line in found.killed if "in pod" in line]
    assert cluster.judged(found)[0] == "UNKNOWN"


def test_it_ends_by_itself_in_the_first_pod_at_its_limit(cluster: Cluster) -> None:
    cluster.mpirun("exec sleep 300")
    found = cluster.measure(timeout=-9)  # the guards get 1 second: limit + 2 x 5
    assert found.rc == 124
    assert marked(RUN_ID) == []


def test_one_that_floods_is_ended_and_the_log_is_bounded(cluster: Cluster) -> None:
    cluster.mpirun(GOOD + "yes 'w1:1:1 [0] NCCL INFO flood'")
    found = cluster.measure(ProcessLauncher(most_bytes=200_000, watched=None, grace=0.5))
    assert found.state == "flood"
    assert Path(str(found.log)).stat().st_size == 200_000
    assert marked(RUN_ID) == []
    assert cluster.judged(found)[0] == "UNKNOWN"


MISBEHAVING = {
    "prints_nothing": ("exit 0", "UNKNOWN", "no line of NCCL tests"),
    "exit_0_with_an_error_text": (
        "echo \"w1: Test NCCL failure common.cu:1279 'unhandled system error'\"", "FAIL", "nccl_error",
    ),
    "exit_1_with_a_good_table": (GOOD + "exit 1", "UNKNOWN", "kubectl exec of mpirun ended with exit status 1"),
    "killed": (GOOD + "kill -9 $$", "UNKNOWN", "kubectl exec of mpirun ended with exit status 137"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "severity", "message"), MISBEHAVING.values(), ids=MISBEHAVING)
def test_what_mpirun_in_the_pod_does(cluster: Cluster, body: str, severity: str, message: str) -> None:
    cluster.mpirun(body)
    found = cluster.judged(cluster.measure())
    assert found[0] == severity
    assert message in found[1]


def test_a_daemon_that_cannot_be_started_ends_the_run_and_says_why(cluster: Cluster) -> None:
    cluster.pods["nccl-1"]["exec_error"] = ["DAEMON", "error: unable to upgrade connection: container not found"]
    cluster.mpirun("sleep 300")
    found = cluster.measure()
    assert found.state == "not_started"
    assert "pod nccl-1: kubectl exec of MPI's daemon ended with exit status 1" in str(found.problem)
    assert "container not found" in str(found.problem)
    assert found.seconds < 30


def test_the_first_pod_can_ask_for_nothing_in_other_peoples_pods(cluster: Cluster) -> None:
    cluster.pods["vault-0"] = dict(cluster.pods["nccl-1"])
    cluster.mpirun("$agent vault-0 'touch {tmp}/stolen'; sleep 300")
    found = cluster.measure()
    assert "mpirun asked for a process in 'vault-0', which is no pod of the run" in str(found.problem)
    assert not (cluster.tmp / "stolen").exists()


def test_a_pod_that_cannot_be_entered_afterwards_is_named(cluster: Cluster) -> None:
    cluster.pods["nccl-1"]["exec_error"] = ["rm -rf", "error: the pod is gone"]
    found = cluster.measure()
    assert found.problem is not None
    assert found.problem.startswith("processes of the run may be left in pod nccl-1: ")
    assert cluster.judged(found)[0] == "UNKNOWN"


def test_check_mode_looks_and_starts_nothing(cluster: Cluster) -> None:
    (cluster.tmp / "kube.json").write_text(json.dumps({"pods": cluster.pods, **cluster.more}))
    found = planned(cluster.run(), Tools(SubprocessRunner(), ProcessLauncher(), {}), Place(RUN_ID, "", ""))
    assert found.state == "planned"
    assert found.command[:6] == ("kubectl", "--namespace=ns", "exec", "nccl-0", "--container", "test")
    assert not (cluster.tmp / "mpirun-argv").exists()


@pytest.mark.parametrize("launcher", ["pods", "mpirun"])
def test_the_module_says_what_would_run(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, launcher: str
) -> None:
    (cluster.tmp / "kube.json").write_text(json.dumps({"pods": cluster.pods, **cluster.more}))
    monkeypatch.setenv("PATH", f"{cluster.bin}:{os.environ['PATH']}")
    arguments = {
        "run_id": RUN_ID, "name": "x", "scope": "single_node", "program": cluster.program, "launcher": launcher,
        "hosts": [{"name": "nccl-0", "address": "nccl-0", "slots": 4}],
        "directory": str(cluster.tmp), "log_directory": str(cluster.tmp / "logs"), "_ansible_check_mode": True,
        **({"pods": {"container": "test", "kubeconfig": "/etc/kubernetes/admin.conf"}} if launcher == "pods" else {}),
    }  # fmt: skip
    with patch_module_args(arguments), pytest.raises(SystemExit):
        nccl_test.main()
    (attempt,) = json.loads(capsys.readouterr().out)["report"]["attempts"]
    begin = ["kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "exec", "nccl-0", "--container", "test", "--", "env"]
    assert (attempt["state"], attempt["command"][:8] == begin) == ("planned", launcher == "pods")


BAD_RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "namespace": ({"pods": {"namespace": "--all"}}, "pods: namespace is '--all'"),
    "for_another_launcher": ({"launcher": "srun", "pods": {"namespace": "x"}}, "pods is for launcher pods"),
}


@pytest.mark.parametrize(("changes", "want"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_pods_that_cannot_be_meant(changes: dict[str, Any], want: str) -> None:
    hosts = [{"name": "nccl-0", "address": "nccl-0"}]
    params = {
        "name": "x",
        "scope": "single_node",
        "program": "/x",
        "launcher": "pods",
        "hosts": hosts,
        "collective": "gather",
    }
    assert read_run({**params, "pods": {"container": "test"}}).pods == Pods(container="test")
    with pytest.raises(ConfigError, match=want):
        read_run({**params, **changes})


def test_a_value_of_several_lines_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match="NCCL_X holds more than one line"):
        cluster.measure(environment={"NCCL_X": "a\nb"})


def test_one_pod_needs_no_agent(cluster: Cluster) -> None:
    one = dataclasses.replace(cluster.run(), scope="single_node", hosts=(Host("nccl-0", "nccl-0", 8),))
    cluster.mpirun(f"cat <<'END'\n{log.good()}END\n")
    begin = time.monotonic()
    assert cluster.measure(hosts=one.hosts).state == "measured"
    assert "_agent sh" not in (cluster.tmp / "mpirun-argv").read_text()
    assert time.monotonic() - begin < 30
