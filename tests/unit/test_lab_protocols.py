"""Talking to the switch and to QEMU, against servers on real unix sockets that speak as they do."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable
from contextlib import contextmanager

import pytest

from tools.lab import qmp
from tools.lab.errors import LabError
from tools.lab.paths import Paths
from tools.lab.switch import ask_switch


@contextmanager
def server(path, serve: Callable):
    """One connection; ``serve`` gets its file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def accept():
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as file:
                serve(file)

        thread = threading.Thread(target=accept)
        thread.start()
        yield
        thread.join()


def say(file, *lines):
    file.write("".join(f"{line}\n" for line in lines))
    file.flush()


def switch_that_answers(rc: int, output: str):
    def serve(file):
        line = file.readline().rstrip("\n")
        tag = line.split()[0]
        encoded = base64.b64encode(output.encode()).decode()
        # A late answer to somebody else, and the echo of a terminal that is not raw yet.
        say(file, "=1.1 0 bm90IG91cnM=", line, f"={tag} {rc} {encoded}".rstrip())

    return serve


@pytest.fixture
def paths(tmp_path):
    return Paths(tmp_path)


def test_the_switch_answers_with_all_that_was_said(paths):
    text = "2: f1: <UP>\n=9.9 0 looks like an answer\n"
    with server(paths.machine("switch") / "control.sock", switch_that_answers(0, text)):
        assert ask_switch(paths, "ip link") == text


def test_silence_is_an_answer(paths):
    with server(paths.machine("switch") / "control.sock", switch_that_answers(0, "")):
        assert ask_switch(paths, "true") == ""


def test_a_failed_command_of_the_switch_is_an_error(paths):
    with (
        server(paths.machine("switch") / "control.sock", switch_that_answers(2, "ip: can't find device 'x'\n")),
        pytest.raises(LabError, match="the switch answered 'ip link show x' with 2: ip: can't find device 'x'"),
    ):
        ask_switch(paths, "ip link show x")


def test_no_switch_at_all(paths):
    with pytest.raises(LabError, match=r"asking the switch to 'true': .*No such file.*scripts/lab status"):
        ask_switch(paths, "true")


def monitor_that_answers(answer: dict):
    def serve(file):
        say(file, json.dumps({"QMP": {"version": {}}}))
        file.readline()
        say(file, json.dumps({"return": {}}))
        file.readline()
        say(file, json.dumps({"event": "STOP", "data": {}}), json.dumps(answer))

    return serve


def test_the_monitor_answers_after_an_event(tmp_path):
    with server(tmp_path / "qmp", monitor_that_answers({"return": {"status": "paused"}})):
        assert qmp.execute(tmp_path / "qmp", "query-status") == {"status": "paused"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(
            {"return": "Error: No such snapshot\r\n"}, "QEMU refused 'loadvm bare': Error: No such", id="words"
        ),
        pytest.param(
            {"error": {"class": "GenericError", "desc": "no"}}, "QEMU refused human-monitor-command: no", id="qmp"
        ),
    ],
)
def test_the_monitor_refuses(tmp_path, answer, said):
    with server(tmp_path / "qmp", monitor_that_answers(answer)), pytest.raises(LabError, match=said):
        qmp.human(tmp_path / "qmp", "loadvm bare")
