"""What containerd loads against what is wanted: drop-ins, recorded dumps, and the decisions over a machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.drop_ins import (
    MAIN,
    Loading,
    follow_imports,
    problem_of,
    remark_on,
    unread,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.effective import (
    Difference,
    differences,
    nri_enabled,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.release import Release
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.settings import (
    CRI,
    CRI_RUNTIME,
    desired_config,
    parse_settings,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.target import (
    BEFORE,
    dump,
    read_state,
    write_files,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.containerd import Outcome, configure, parse_toml

from tests.fakes.host_root import host_root, tree
from tests.fakes.runner import FakeRunner
from tests.unit.test_containerd_settings import FIXTURES, GPU_NODE

OLD, NEW, NEWEST = Release(1, 7, "1.7.24~ds1"), Release(2, 1, "v2.1.4"), Release(2, 3, "v2.3.4")
VERSION = "containerd github.com/containerd/containerd 1.7.24~ds1 1.7.24~ds1-6+deb13u1\n"
SETTINGS = parse_settings(GPU_NODE)
PATTERN = "/etc/containerd/conf.d/*.toml"
CONF_D = "/etc/containerd/conf.d/99-nvidia.toml"
CONFIG_D = "/etc/containerd/config.d/99-nvidia.toml"
NVIDIA = "/usr/bin/nvidia-container-runtime"


class Tagged(str):
    """As Ansible gives strings: of a type of their own."""


def text(name: str) -> str:
    return (FIXTURES / name).read_text()


def parsed(name: str) -> dict[str, Any]:
    found = parse_toml(text(name))
    assert isinstance(found, dict)
    return found


def test_a_recorded_dump_is_what_was_wanted() -> None:
    assert differences(desired_config(SETTINGS, OLD), parsed("1.7.24-wanted.toml")) == []


def test_defaults_are_not_what_is_wanted() -> None:
    """F40: in the default SystemdCgroup is off; F43: and NRI too."""
    wrong = {
        one.path: (one.wanted, one.loaded)
        for one in differences(desired_config(SETTINGS, OLD), parsed("1.7.24-default.toml"))
    }
    cri = ("plugins", CRI)
    assert wrong[(*cri, "containerd", "runtimes", "runc", "options", "SystemdCgroup")] == (True, False)
    assert wrong[(*cri, "containerd", "runtimes", "nvidia", "options", "SystemdCgroup")] == (True, None)
    assert wrong[("plugins", "io.containerd.nri.v1.nri", "disable")] == (False, True)
    assert wrong[(*cri, "enable_cdi")] == (True, False)


@pytest.mark.parametrize(
    ("wanted", "loaded", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": {"b": 1}}, {"a": 2}, [Difference(("a", "b"), 1, None)]),
        ({"a": {}}, {}, []),
        ({"a": ["x"]}, {"a": ["w", "x"]}, []),
        ({"a": ["x", "y"]}, {"a": ["x"]}, [Difference(("a",), ["x", "y"], ["x"])]),
        ({"a": Tagged("x")}, {"a": "x"}, []),
        ({"a": True}, {"a": 1}, [Difference(("a",), True, 1)]),
        ({"a": "4h"}, {"a": "4h0m0s"}, []),
        ({"a": "90s"}, {"a": "1m30s"}, []),
        ({"a": "4h"}, {"a": "5h"}, [Difference(("a",), "4h", "5h")]),
        ({"a": ""}, {"a": "x"}, [Difference(("a",), "", "x")]),
        ({"version": 2, "imports": ["x"]}, {"version": 4, "imports": []}, []),
    ],
    ids=str,
)
def test_differences(wanted: dict[str, Any], loaded: dict[str, Any], expected: list[Difference]) -> None:
    assert differences(wanted, loaded) == expected


@pytest.mark.parametrize(
    ("release", "config", "on"),
    [
        (Release(1, 7, "1.7.27"), "version = 2\n", False),
        (Release(1, 7, "1.7.27"), "", False),
        (Release(1, 7, "1.7.27"), text("1.7.24-default.toml"), False),
        (Release(1, 7, "1.7.27"), '[plugins."io.containerd.nri.v1.nri"]\ndisable = false\n', True),
        (NEW, "version = 3\n", True),
        (NEW, "version = 3\n[plugins.'io.containerd.nri.v1.nri']\ndisable = true\n", False),
        (OLD, text("wanted-1.7.toml"), True),
    ],
    ids=["1.7 stub", "1.7 empty", "1.7 default", "1.7 on", "2.1 default", "2.1 off", "ours"],
)
def test_nri(release: Release, config: str, on: bool) -> None:
    """F43. CRI-O is refused where the version is read."""
    found = parse_toml(config)
    assert isinstance(found, dict)
    assert nri_enabled(release, found) is on


DROP_INS = {
    "same version": (OLD, {"version": 2}, None, None),
    "no version, 1.7": (OLD, {}, None, None),
    "newer than 1.7": (
        OLD,
        {"version": 3},
        "it has version 3, and containerd 1.7.24~ds1, which reads version 2, does not start with it",
        None,
    ),
    "version 1": (
        OLD,
        {"version": 1},
        "it has version 1, for which containerd 1.7.24~ds1 then takes all files, without their plugins",
        None,
    ),
    "newer than 2.1": (
        NEW,
        {"version": 4},
        "it has version 4, and containerd v2.1.4, which reads version 3, does not start with it",
        None,
    ),
    "older": (NEWEST, {"version": 2}, None, "has version 2: containerd v2.3.4 converts it to version 4 at each start"),
    "no version, 2.3": (
        NEWEST,
        {},
        None,
        "says no version, which means 1: containerd v2.3.4 converts it to version 4 at each start",
    ),
    "version in quotes": (
        OLD,
        {"version": "2"},
        "its version '2' is no number, and containerd does not start with it",
        None,
    ),
    "broken": (
        NEW,
        "Invalid value (at line 1)",
        "it is no TOML (Invalid value (at line 1)), and containerd does not start with it",
        None,
    ),
}


@pytest.mark.parametrize(("release", "drop_in", "problem", "remark"), DROP_INS.values(), ids=DROP_INS)
def test_version_of_a_drop_in(release: Release, drop_in: Any, problem: str | None, remark: str | None) -> None:
    """F41: a drop-in of version 3 under 1.7, and its kin."""
    assert problem_of(release, drop_in) == problem
    if problem is None:
        assert remark_on(release, drop_in) == remark


def test_what_is_loaded() -> None:
    """F41: a drop-in in config.d is not read when conf.d is imported. Imports of drop-ins count, each file once."""
    trees: dict[str, Any] = {
        MAIN: {},
        CONF_D: {"imports": ["more/a.toml", "/etc/containerd/conf.d/*.toml", "/srv/gone.toml"]},
        "/etc/containerd/conf.d/more/a.toml": {"imports": ["/x/*.toml"]},
        CONFIG_D: {},
    }
    matches = {
        PATTERN: [CONF_D],
        "/etc/containerd/conf.d/more/a.toml": ["/etc/containerd/conf.d/more/a.toml"],
        "/srv/gone.toml": [],
    }
    loading = follow_imports([PATTERN], matches, trees)
    assert loading == Loading(
        paths=[CONF_D, "/etc/containerd/conf.d/more/a.toml"],
        missing=[(CONF_D, "/srv/gone.toml")],
        unknown=["/x/*.toml"],
    )
    assert unread(loading, trees) == {CONFIG_D: "/etc/containerd/config.d/*.toml"}


class Machine:
    """A machine's files, and what its containerd says: one dump for each time that it is asked, the last one stays."""

    def __init__(self, files: Mapping[str, str], *dumps: str, **state: Any) -> None:
        self.files = dict(files)
        self.dumps = list(dumps)
        self.state = {"version": VERSION, "active": True, "started": 100, "changed_at": 50, "absent": [], **state}
        self.calls: list[Any] = []

    def read(self, patterns: Sequence[str]) -> dict[str, Any]:
        self.calls.append(("read", *patterns))
        folders = {pattern: pattern.removesuffix("*.toml") for pattern in patterns}
        return {
            **self.state,
            "files": {path: text for path, text in self.files.items() if not path.endswith("hosts.toml")},
            "hosts": {path: text for path, text in self.files.items() if path.endswith("hosts.toml")},
            "matches": {
                pattern: [path for path in self.files if path.rpartition("/")[0] + "/" == folder]
                for pattern, folder in folders.items()
            },
            "dump": self._dump() if MAIN in self.files and self.state["version"] else None,
        }

    def _dump(self) -> dict[str, Any]:
        said = self.dumps.pop(0) if len(self.dumps) > 1 else self.dumps[0]
        return {"rc": 0, "stdout": said, "stderr": ""} if "=" in said else {"rc": 1, "stdout": "", "stderr": said}

    def dump(self, text: str) -> dict[str, Any]:
        self.calls.append(("dump", text))
        return self._dump()

    def write(self, files: Mapping[str, str | None], set_aside: Sequence[str]) -> dict[str, Any]:
        self.calls.append(("write", *sorted(files), *set_aside))
        return {"remarks": ["kept"], "dump": self._dump()}


WANTED, LOADED, REPLACED = text("wanted-1.7.toml"), text("1.7.24-wanted.toml"), text("1.7.24-nvidia-drop-in.toml")
READ = ("read", PATTERN)


def run(machine: Machine, **options: Any) -> Outcome:
    chosen = {"settings": SETTINGS, "conflicts": "fail", "unread_action": "report", "check_mode": False, **options}
    return configure(machine=machine, **chosen)


def test_nothing_to_change_asks_once() -> None:
    machine = Machine({MAIN: WANTED}, LOADED)
    assert run(machine) == Outcome(version="1.7.24~ds1", format=2)
    assert machine.calls == [READ]


@pytest.mark.parametrize("check_mode", [False, True], ids=["", "check mode"])
def test_the_packages_own_file_is_replaced(check_mode: bool) -> None:
    machine = Machine({MAIN: "version = 2\n"}, text("1.7.24-default.toml"), LOADED)
    assert run(machine, check_mode=check_mode) == Outcome(
        changed=True,
        restart=True,
        version="1.7.24~ds1",
        format=2,
        files=[MAIN],
        notes=[] if check_mode else ["kept"],
        diff=[{"before_header": MAIN, "after_header": MAIN, "before": "version = 2\n", "after": WANTED}],
    )
    assert machine.calls == [READ, ("dump", WANTED)] + ([] if check_mode else [("write", MAIN)])


BEFORE_US = {
    "empty": "",
    "too new": "version = 3\n",
    "both kinds of quotes": "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = \"x\"\n",
    "no TOML": "version = [",
}


@pytest.mark.parametrize("before", BEFORE_US.values(), ids=BEFORE_US)
def test_whatever_was_there_before(before: str) -> None:
    """F40. The second run changes nothing."""
    machine = Machine({MAIN: before, "/etc/containerd/conf.d/a.toml": "oom_score = -500\n"}, LOADED)
    assert run(machine).diff[0]["after"] == WANTED
    machine.files[MAIN] = WANTED
    assert run(machine) == Outcome(version="1.7.24~ds1", format=2)


def test_an_import_of_the_old_file_is_not_lost_silently() -> None:
    machine = Machine({MAIN: 'imports = ["/srv/site.toml", "conf.d/*.toml"]\n'}, LOADED)
    assert run(machine, check_mode=True).notes == [
        f"{MAIN} imported /srv/site.toml, which the new one does not; add it to imports if it counts"
    ]


def test_a_new_mirror_needs_no_restart() -> None:
    registries = [{"registry": "docker.io", "mirrors": [{"url": "https://mirror"}]}]
    machine = Machine({MAIN: WANTED}, LOADED)
    outcome = run(machine, settings=parse_settings({**GPU_NODE, "registries": registries}))
    assert (outcome.changed, outcome.restart) == (True, False)
    assert machine.calls == [READ, ("write", "/etc/containerd/certs.d/docker.io/hosts.toml")]


def test_a_run_that_was_killed_before_the_restart() -> None:
    outcome = run(Machine({MAIN: WANTED}, LOADED, changed_at=101))
    assert (outcome.changed, outcome.restart, outcome.files) == (True, True, [])
    assert outcome.notes == ["the running containerd is older than its configuration"]


def test_a_stopped_daemon_is_not_restarted() -> None:
    outcome = run(Machine({MAIN: ""}, LOADED, active=False, started=None))
    assert (outcome.changed, outcome.restart) == (True, False)


def test_not_installed() -> None:
    machine = Machine({}, version=None)
    assert run(machine, check_mode=True).changed
    with pytest.raises(ClusterError, match="it is not installed; install its package first"):
        run(machine)


def test_what_is_noted() -> None:
    """F41: never read. And a runtime whose program is not there."""
    outcome = run(Machine({MAIN: WANTED, CONFIG_D: "version = 2\n"}, LOADED, absent=[NVIDIA]))
    assert outcome == Outcome(
        version="1.7.24~ds1",
        format=2,
        notes=[
            "/etc/containerd/config.d/99-nvidia.toml is never read: containerd imports only "
            "/etc/containerd/conf.d/*.toml. Move it there, remove it, or set unread to import",
            "the runtime's program /usr/bin/nvidia-container-runtime is not on the machine; its pods will not start",
        ],
    )


def test_an_unread_drop_in_is_imported_by_option() -> None:
    """F41. A broken one beside it is not: containerd would not start."""
    broken = "/etc/containerd/broken/x.toml"
    machine = Machine({MAIN: WANTED, CONFIG_D: "version = 2\n", broken: "x = ["}, LOADED)
    outcome = run(machine, unread_action="import")
    assert 'imports = ["/etc/containerd/conf.d/*.toml", "/etc/containerd/config.d/*.toml"]' in outcome.diff[0]["after"]
    assert [note.split(" ")[0] for note in outcome.notes] == [broken, "kept"]
    machine.files[MAIN] = outcome.diff[0]["after"]
    assert not run(machine, unread_action="import").changed


def refused(machine: Machine, **options: Any) -> str:
    with pytest.raises(ClusterError) as error:
        run(machine, **options)
    assert "write" not in [call[0] for call in machine.calls]
    return str(error.value)


def test_an_unread_drop_in_is_refused_by_option() -> None:
    machine = Machine({MAIN: WANTED, CONFIG_D: "version = 2\n"}, LOADED)
    assert refused(machine, unread_action="fail").startswith(f"{CONFIG_D} is never read")


def test_an_import_that_is_missing() -> None:
    settings = replace(SETTINGS, imports=("/etc/containerd/site.toml",))
    assert refused(Machine({MAIN: WANTED}, LOADED), settings=settings) == (
        "/etc/containerd/site.toml, which /etc/containerd/config.toml imports, does not exist, and containerd does not "
        "start without it; create it, or take it out of the imports"
    )


def test_a_drop_in_of_another_version() -> None:
    """F41: version 3 under a main version 2."""
    machine = Machine({MAIN: WANTED, CONF_D: "version = 3\n"}, LOADED)
    assert refused(machine) == (
        f"{CONF_D}: it has version 3, and containerd 1.7.24~ds1, which reads version 2, does not start with it. "
        "Correct or remove it, or set conflicts to set_aside. Nothing was changed"
    )


def test_a_drop_in_that_undoes_settings() -> None:
    """As a container toolkit writes it: recorded, 1.7 forgets our table for the one of the drop-in."""
    machine = Machine({MAIN: WANTED, CONF_D: text("nvidia-drop-in-2.toml")}, REPLACED)
    message = refused(machine)
    image = "sandbox_image is 'registry.k8s.io/pause:3.8', wanted is 'registry.k8s.io/pause:3.10.1'"
    assert f"plugins {CRI} {image} ({CONF_D})" in message
    assert "runtimes runc options SystemdCgroup is missing, wanted is True" in message
    assert ". In containerd 1.7.24~ds1 a drop-in replaces all settings of a plugin that it names" in message
    assert [call[0] for call in machine.calls] == ["read"]


@pytest.mark.parametrize(
    ("drop_in", "dumps"),
    [("version = 3\n", [LOADED]), (text("nvidia-drop-in-2.toml"), [REPLACED, LOADED])],
    ids=["another version", "undoes settings"],
)
def test_set_aside_by_option(drop_in: str, dumps: list[str]) -> None:
    """The one in the way goes; another, which is none of it, stays, and is tried with what is to be."""
    other = "/etc/containerd/conf.d/10-site.toml"
    machine = Machine({MAIN: WANTED, CONF_D: drop_in, other: "oom_score = -500\n"}, dumps[0], dumps[-1])
    outcome = run(machine, conflicts="set_aside")
    assert (outcome.changed, outcome.restart, outcome.files, outcome.set_aside) == (True, True, [], [CONF_D])
    assert machine.calls[-1] == ("write", CONF_D)
    assert f'imports = ["{other}"]' in machine.calls[-2][1]


def test_a_setting_that_containerd_does_not_know() -> None:
    settings = parse_settings({**GPU_NODE, "further": {"plugins": {CRI: {"enable_cid": True}}}})
    assert refused(Machine({MAIN: WANTED}, LOADED), settings=settings) == (
        f"containerd would not load what is wanted: plugins {CRI} enable_cid is missing, wanted is True "
        "(no drop-in has it). containerd 1.7.24~ds1 does not know this setting: look at further. Nothing was changed"
    )


def test_containerd_refuses_the_text() -> None:
    machine = Machine({MAIN: ""}, "containerd: failed to load TOML: (2, 1): unterminated array")
    assert refused(machine) == (
        "containerd 1.7.24~ds1 refuses the configuration (containerd config dump): "
        "containerd: failed to load TOML: (2, 1): unterminated array"
    )


def test_written_and_then_not_loaded() -> None:
    with pytest.raises(ClusterError, match="the configuration was written, but containerd does not load it: "):
        run(Machine({MAIN: ""}, LOADED, LOADED, REPLACED))


def test_an_old_drop_in_for_a_new_containerd_is_named_for_the_new_plugins() -> None:
    machine = Machine(
        {MAIN: "", CONF_D: text("nvidia-drop-in-2.toml")}, "version = 3\n", version="containerd c v2.2.7 x"
    )
    message = refused(machine)
    assert f"plugins {CRI_RUNTIME} enable_cdi is missing, wanted is True ({CONF_D})" in message
    assert "replaces all settings" not in message


class Containerd(FakeRunner):
    """Answers a dump with the text of the file that it is given."""

    def run(self, argv: Sequence[str], timeout: float | None = None, stdin: str | None = None) -> CommandResult:
        if list(argv[:2]) == ["containerd", "--config"]:
            return CommandResult(0, Path(argv[2]).read_text(), "")
        return super().run(argv, timeout, stdin)


SHOW = (
    "systemctl",
    "show",
    "containerd.service",
    "--property=ActiveState,ExecMainStartTimestamp",
    "--timestamp=unix",
)
ANSWERS = {
    ("containerd", "--version"): CommandResult(0, VERSION, ""),
    SHOW: CommandResult(0, "ActiveState=active\nExecMainStartTimestamp=@1700000000\n", ""),
}
DOCKER = "/etc/containerd/certs.d/docker.io/hosts.toml"


def test_a_machine_is_read(tmp_path: Path) -> None:
    files = {
        MAIN: "version = 2\n",
        "/etc/containerd/conf.d/.hidden.toml": "a = 1\n",
        "/etc/containerd/conf.d/x.toml.rpmsave": "",
        "/etc/containerd/config.d/y.toml": "b = 1\n",
        "/srv/site.toml": "c = 1\n",
        DOCKER: "d = 1\n",
    }
    root = host_root(tmp_path, files)
    for path in files:
        os.utime(root.path(path), (1600000000, 1600000000))
    os.utime(root.path("/srv/site.toml"), (1650000000, 1650000000))
    os.utime(root.path("/etc/containerd/conf.d"), (1600000000, 1600000000))
    # A file was taken away: only its directory tells.
    os.utime(root.path("/srv"), (1660000000, 1660000000))
    state = read_state(
        root, Containerd(ANSWERS), ["/etc/*/conf.d/*.toml", "/srv/site.toml", "/srv/gone.toml"], [NVIDIA]
    )
    assert state == {
        "version": VERSION,
        "files": {path: files[path] for path in sorted(files) if path.endswith(".toml") and path != DOCKER},
        "matches": {
            "/etc/*/conf.d/*.toml": ["/etc/containerd/conf.d/.hidden.toml"],
            "/srv/site.toml": ["/srv/site.toml"],
            "/srv/gone.toml": [],
        },
        "hosts": {DOCKER: "d = 1\n"},
        "dump": {"rc": 0, "stdout": "version = 2\n", "stderr": ""},
        "changed_at": 1660000000,
        "absent": [NVIDIA],
        "active": True,
        "started": 1700000000,
    }


def test_a_machine_without_containerd(tmp_path: Path) -> None:
    assert read_state(host_root(tmp_path, {}), Containerd({}), [PATTERN], []) == {
        "version": None,
        "files": {},
        "matches": {PATTERN: []},
        "hosts": {},
        "dump": None,
        "changed_at": 0,
        "absent": [],
        "active": False,
        "started": None,
    }


def test_a_text_is_tried_without_writing_it(tmp_path: Path) -> None:
    assert dump(Containerd({}), "version = 2\n# é\n") == {"rc": 0, "stdout": "version = 2\n# é\n", "stderr": ""}


def test_writing(tmp_path: Path) -> None:
    """What was there is kept once, a mirror's directory goes with its file, a drop-in steps aside."""
    quay = "/etc/containerd/certs.d/quay.io/hosts.toml"
    root = host_root(tmp_path, {MAIN: "by hand\n", CONF_D: "x\n", DOCKER: "ours\n", quay: "q\n", quay + ".crt": "c\n"})
    assert write_files(root, {MAIN: WANTED, DOCKER: None, quay: None}, [CONF_D]) == [
        f"the configuration that was there before is kept as {BEFORE}"
    ]
    expected = {MAIN: WANTED, BEFORE: "by hand\n", CONF_D + ".gpufleet-disabled": "x\n", quay + ".crt": "c\n"}
    assert tree(tmp_path) == expected
    assert not root.exists("/etc/containerd/certs.d/docker.io")
    root.write(MAIN, "by hand again\n")
    assert write_files(root, {MAIN: WANTED}, []) == []
    assert tree(tmp_path) == expected
