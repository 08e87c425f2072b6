# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a network change that runs on the node by itself, without a controller and without Ansible.

A copy of this file lies on the node and is started by systemd: ``apply`` once the module has answered, ``restore`` by a
timer when nobody confirmed, ``boot`` when the machine was restarted inside the window. So it imports nothing but the
standard library, and nothing of this collection.

A change is a directory ``/var/lib/gpufleet/network/<id>`` with ``transaction.json``, ``old/``, ``new/`` and ``status``.
It is open as long as the file ``pending`` beside it holds its id. Whatever happens, one of these is true: the old files
are in place, or ``pending`` leads to them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import subprocess
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

STATE_DIRECTORY = "/var/lib/gpufleet/network"
AGENT = STATE_DIRECTORY + "/agent.py"
# A command of the backend that hangs must not outlive the window: the restore timer has to get its turn.
COMMAND_TIMEOUT = 45
# What applying may take on a slow machine, before the time to confirm begins.
APPLY_SECONDS = 60
# Debian 12 and Ubuntu 24.04 on; before
NETPLAN_GENERATORS = ("/usr/libexec/netplan/generate", "/usr/lib/netplan/generate")
Run = Callable[[Sequence[str]], Tuple[int, str]]


def run_command(argv: Sequence[str]) -> Tuple[int, str]:
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_TIMEOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "%s: no end after %d s" % (argv[0], COMMAND_TIMEOUT)
    except OSError as exc:
        return 127, "%s: %s" % (argv[0], exc.strerror)
    return done.returncode, done.stdout


class Store:
    """The files of all changes below ``root``; every write is to a temporary name, then renamed."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self.base = self.path(STATE_DIRECTORY)

    def path(self, absolute: str) -> str:
        return os.path.join(self.root, absolute.lstrip("/"))

    def read(self, absolute: str) -> Optional[str]:
        try:
            with open(self.path(absolute), encoding="utf-8", errors="surrogateescape") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, absolute: str, text: str, mode: int = 0o600) -> None:
        os.replace(self.write_beside(absolute, text, mode), self.path(absolute))

    def write_beside(self, absolute: str, text: str, mode: int) -> str:
        """The text under a temporary name in the same directory, on disk. Nothing is left behind on an error."""
        target = self.path(absolute)
        os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
        temporary = _beside(target)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
                stream.write(text)
                stream.flush()
                os.fchmod(stream.fileno(), mode)
                os.fsync(stream.fileno())
        except OSError as exc:
            _unlink(temporary)
            raise OSError(exc.errno, exc.strerror, target) from exc
        return temporary

    def remove(self, absolute: str) -> None:
        _unlink(self.path(absolute))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One at a time: the timer's restore, and the confirmation that may come in the same second."""
        os.makedirs(self.base, mode=0o700, exist_ok=True)
        with open(os.path.join(self.base, "lock"), "w", encoding="ascii") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    # The open change and its state -----------------------------------------------------------------------------------

    def pending(self) -> Optional[str]:
        text = self.read(STATE_DIRECTORY + "/pending")
        return text.strip() or None if text else None

    def load(self, identity: str) -> Dict[str, Any]:
        text = self.read("%s/%s/transaction.json" % (STATE_DIRECTORY, identity))
        return json.loads(text) if text else {}

    def status(self, identity: str) -> Dict[str, Any]:
        text = self.read("%s/%s/status" % (STATE_DIRECTORY, identity))
        return json.loads(text) if text else {}

    def set_status(self, identity: str, state: str, message: str = "") -> None:
        text = json.dumps({"state": state, "message": message})
        self.write("%s/%s/status" % (STATE_DIRECTORY, identity), text)

    # The two sets of files -------------------------------------------------------------------------------------------

    def put_new(self, identity: str) -> None:
        """All new files, or none: every text is on disk beside its place before the first one takes it."""
        staged: List[Tuple[str, str]] = []
        try:
            for entry in self.load(identity)["files"]:
                if entry["new"] is not None:
                    text = self.read("%s/%s/%s" % (STATE_DIRECTORY, identity, entry["new"])) or ""
                    staged.append((self.write_beside(entry["path"], text, entry["mode"]), entry["path"]))
        except OSError:
            for temporary, _absolute in staged:
                _unlink(temporary)
            raise
        for temporary, absolute in staged:
            os.replace(temporary, self.path(absolute))
        for entry in self.load(identity)["files"]:
            if entry["new"] is None:
                self.remove(entry["path"])

    def sweep(self, identity: str) -> None:
        """Remove what a restore that was killed left beside the files."""
        for entry in self.load(identity)["files"]:
            _unlink(_beside(self.path(entry["path"])))

    def put_old(self, identity: str) -> None:
        """Back to what was there before. On a full disk too: what is there already is left alone, the rest is linked
        where it can be."""
        for entry in self.load(identity)["files"]:
            target = self.path(entry["path"])
            temporary = _beside(target)
            _unlink(temporary)
            if entry["old"] is None:
                _unlink(target)
                continue
            backup = "%s/%s/%s" % (STATE_DIRECTORY, identity, entry["old"])
            if self.read(entry["path"]) == self.read(backup):
                os.chmod(target, entry["old_mode"])
                continue
            try:
                os.link(self.path(backup), temporary)
                os.replace(temporary, target)
            except OSError as exc:
                if exc.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
                    raise
                self.write(entry["path"], self.read(backup) or "", entry["old_mode"])


def _beside(target: str) -> str:
    """A name in the same directory that no backend reads."""
    return os.path.join(os.path.dirname(target), ".%s.gpufleet" % os.path.basename(target))


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


# What systemd starts -------------------------------------------------------------------------------------------------


def apply(store: Store, run: Run, identity: str) -> None:
    """Bring the new files into effect. A backend that refuses them is answered by the old network at once."""
    if store.pending() != identity:
        return
    change = store.load(identity)
    store.set_status(identity, "applying")
    retire(run, change["retire"])
    _rename(run, [(port["mac"], port["new"]) for port in change["ports"]], store)
    code, output = _activate(store, run, change, change["connections"])
    if code:
        restore(store, run, identity, "the new configuration was refused: %s" % output.strip(), from_apply=True)
        return
    set_sysctls(store, change["sysctls"])
    store.set_status(identity, "applied")
    _open_window(store, run, identity, change["timeout"])


def _open_window(store: Store, run: Run, identity: str, seconds: int) -> None:
    """The time to confirm counts from now, when there is a new network to confirm.

    The first timer also had to leave time for applying. It is let go only when the second one runs.
    """
    argv = ["systemd-run", "--unit=gpufleet-network-unconfirmed-%s" % identity, "--on-active=%d" % seconds]
    argv += ["--timer-property=AccuracySec=500ms", sys.executable, store.path(AGENT), "restore", identity]
    if run(argv)[0] == 0:
        run(["systemctl", "stop", "gpufleet-network-restore-%s.timer" % identity])


def restore(store: Store, run: Run, identity: str, reason: str, from_apply: bool = False) -> None:
    """The old files and the old live state. Does nothing for a change that was confirmed or followed by another."""
    if not from_apply:
        run(["systemctl", "stop", "gpufleet-network-apply-%s.timer" % identity])
        run(["systemctl", "stop", "gpufleet-network-apply-%s.service" % identity])
    with store.lock():
        if store.pending() != identity:
            return
        change = store.load(identity)
        store.put_old(identity)
        retire(run, change["made"])
        _rename(run, [(port["mac"], port["old"]) for port in change["ports"]], store)
        for port in change["ports"]:
            run(["ip", "address", "flush", "dev", port["old"], "scope", "global"])
        _activate(store, run, change, change["old_connections"])
        for port in change["ports"]:
            run(["ip", "link", "set", "dev", port["old"], "mtu", str(port["mtu"])])
            if not port["up"]:
                run(["ip", "link", "set", "dev", port["old"], "down"])
        set_sysctls(store, change["old_sysctls"])
        store.set_status(identity, "restored", reason)
        store.remove(STATE_DIRECTORY + "/pending")


def boot(store: Store, run: Run) -> None:
    """The machine was restarted before the change was confirmed: old files, before the network starts."""
    identity = store.pending()
    if identity is None:
        return
    with store.lock():
        change = store.load(identity)
        store.put_old(identity)
        if change["backend"] == "netplan":
            run(["netplan", "generate"])
        # udev gave the ports their new names from the new files, before this ran.
        run(["udevadm", "control", "--reload"])
        _rename(run, [(port["mac"], port["old"]) for port in change["ports"]], store)
        store.set_status(identity, "restored", "the machine was restarted before the change was confirmed")
        store.remove(STATE_DIRECTORY + "/pending")


def retire(run: Run, what: Dict[str, Any]) -> None:
    """Take away devices, rules and tables that only the other configuration has; the backends leave them behind.

    An answer that says "no such thing" is as good as success, so the exit status does not matter.
    """
    for rule in what["rules"]:
        run(["ip", *rule[:1], "rule", "del", *rule[1:]])
    for table in what["tables"]:
        run(["ip", "-4", "route", "flush", "table", str(table)])
        run(["ip", "-6", "route", "flush", "table", str(table)])
    for device in what["devices"]:
        run(["ip", "link", "delete", "dev", device])


def _activate(store: Store, run: Run, change: Dict[str, Any], connections: Sequence[str]) -> Tuple[int, str]:
    if change["backend"] == "netplan":
        return _activate_netplan(store, run)
    code, output = run(["nmcli", "connection", "reload"])
    for connection in connections:
        code, output = (code, output) if code else run(["nmcli", "--wait", "20", "connection", "up", "id", connection])
    return code, output


def _activate_netplan(store: Store, run: Run) -> Tuple[int, str]:
    """What ``netplan apply`` comes to with networkd, without its Python: half a minute on a slow machine.

    From netplan 1.2 on the generator writes units only, and ``configure`` is the other half; that is left to netplan.
    """
    generator = next((path for path in NETPLAN_GENERATORS if os.path.exists(store.path(path))), None)
    if generator is None or os.path.exists(store.path("/usr/libexec/netplan/configure")):
        return run(["netplan", "apply"])
    code, output = run([generator])
    if code:
        return code, output
    run(["udevadm", "control", "--reload"])
    return run(["networkctl", "reload"])


def _rename(run: Run, wanted: Sequence[Tuple[Optional[str], str]], store: Store) -> None:
    """Ports get their names now, not only at the next boot. Two steps, so that two ports can swap names."""
    waiting = []
    for number, (mac, name) in enumerate(wanted):
        current = _name_of(mac, store) if mac else None
        if current is not None and current != name:
            temporary = "gpufleet%d" % number
            run(["ip", "link", "set", "dev", current, "down"])
            run(["ip", "link", "set", "dev", current, "name", temporary])
            waiting.append((temporary, name))
    for temporary, name in waiting:
        run(["ip", "link", "set", "dev", temporary, "name", name])
        run(["ip", "link", "set", "dev", name, "up"])


def _name_of(mac: str, store: Store) -> Optional[str]:
    base = "/sys/class/net"
    for name in sorted(os.listdir(store.path(base))):
        if not os.path.exists(store.path("%s/%s/device" % (base, name))):
            continue
        for attribute in ("bonding_slave/perm_hwaddr", "address"):
            text = store.read("%s/%s/%s" % (base, name, attribute))
            if text is not None:
                if text.strip().lower() == mac:
                    return name
                break
    return None


def set_sysctls(store: Store, values: Dict[str, str]) -> None:
    """A key that is not there belongs to a device that went away."""
    for key, value in values.items():
        with contextlib.suppress(OSError), open(store.path("/proc/sys/" + key), "w", encoding="ascii") as stream:
            stream.write(value + "\n")


def main(arguments: Sequence[str]) -> None:
    store = Store()
    if arguments[0] == "apply":
        apply(store, run_command, arguments[1])
    elif arguments[0] == "restore":
        restore(store, run_command, arguments[1], "no confirmation came over a new connection in time")
    else:
        boot(store, run_command)


if __name__ == "__main__":
    main(sys.argv[1:])
