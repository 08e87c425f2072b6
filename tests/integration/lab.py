"""The lab as tests see it: machines to command, playbooks run through ansible-runner, reports read back."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner

ROOT = Path(__file__).resolve().parents[2]
INVENTORY = ROOT / "inventories" / "lab"


def command(*argv: str, timeout: float = 600, check: bool = True) -> subprocess.CompletedProcess[str]:
    """``scripts/lab ARGV``."""
    done = subprocess.run(
        [str(ROOT / "scripts" / "lab"), *argv], capture_output=True, text=True, timeout=timeout, check=False
    )
    assert not check or done.returncode == 0, f"scripts/lab {' '.join(argv)}: {done.stdout}{done.stderr}"
    return done


def ssh(node: str, *argv: str, check: bool = True) -> str:
    return command("ssh", node, *argv, check=check).stdout


def wait_for_another_boot(node: str, boot_id: str, seconds: float = 900) -> None:
    deadline = time.monotonic() + seconds
    while (now := ssh(node, "cat /proc/sys/kernel/random/boot_id", check=False)) in ("", boot_id):
        assert time.monotonic() < deadline, f"{node} has not come back after {seconds} s"
        time.sleep(5)
    assert now


def wait_until(what: str, reached: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"not {what} after {seconds:.0f} s"
        time.sleep(2)


@contextlib.contextmanager
def playing(playbook: str, *options: str) -> Iterator[None]:
    """The playbook in a process group of its own, which is killed at the end: a controller that dies."""
    argv = [str(ROOT / ".venv" / "bin" / "ansible-playbook"), playbook, "-i", str(INVENTORY), *options]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(argv, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)
        try:
            yield
            assert process.poll() is None, "it was to be killed, and has ended by itself"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@dataclass(frozen=True)
class Played:
    """One run of a playbook: ansible-runner's rc and status, what changed, every task's result, and the report."""

    rc: int
    status: str
    seconds: float
    stats: dict[str, dict[str, int]]
    events: list[dict[str, Any]]
    report: dict[str, Any] | None
    output: str

    def changed(self) -> dict[str, int]:
        return {host: count for host, count in self.stats.get("changed", {}).items() if count}

    def changed_tasks(self) -> list[str]:
        return [
            f"{e['event_data']['host']}: {e['event_data']['task']}"
            for e in self.events
            if e["event"] == "runner_on_ok" and e["event_data"].get("res", {}).get("changed")
        ]

    def diffs(self) -> list[str]:
        """Tasks that showed a difference."""
        shown = []
        for event in self.events:
            diff = event.get("event_data", {}).get("res", {}).get("diff")
            parts = diff if isinstance(diff, list) else [diff]
            if any(p and (p.get("prepared") or p.get("before") != p.get("after")) for p in parts):
                shown.append(f"{event['event_data']['host']}: {event['event_data']['task']}")
        return shown

    def findings(self, severity: str) -> list[dict[str, Any]]:
        assert self.report is not None, self.output[-3000:]
        return [f for f in self.report["findings"] if f["severity"] == severity]


def play(playbook: str, *options: str, check_rc: bool = True) -> Played:
    """Run it as a CI job would: a private data directory, ansible-runner, then rc, status and events."""
    with tempfile.TemporaryDirectory(prefix="gpufleet-runner-") as folder:
        private = Path(folder)
        subprocess.run([str(ROOT / "scripts" / "runner-dir"), folder, str(INVENTORY)], check=True)
        begin = time.monotonic()
        run = ansible_runner.run(
            private_data_dir=folder,
            playbook=playbook,
            cmdline=" ".join([*options, "-e", f"report_directory={private}/reports"]),
            quiet=True,
        )
        seconds = time.monotonic() - begin
        found = sorted(private.glob("reports/*/*/findings.json"))
        output = run.stdout.read()
        played = Played(
            rc=run.rc,
            status=run.status,
            seconds=seconds,
            stats=run.stats or {},
            events=list(run.events),
            report=json.loads(found[-1].read_text()) if found else None,
            output=output,
        )
    print(f"\n{playbook} {' '.join(options)}: rc {played.rc} after {seconds:.0f} s", flush=True)
    assert not check_rc or played.rc == 0, output[-6000:]
    return played
