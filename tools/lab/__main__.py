# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""scripts/lab: the commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .console import attach
from .errors import LabError
from .faults import FAULTS, heal, plant, power_on
from .lab import Lab, locked, up
from .paths import Paths
from .plan import SWITCH
from .prerequisites import PACKAGES
from .progress import Progress
from .ssh import ssh_argv
from .state import read_state


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/lab", description="Small virtual machines with a real switch between them. See docs/lab.md."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    start = commands.add_parser("up", help="start the lab; what runs already is left alone")
    start.add_argument("--workers", type=int, metavar="N", help="default: 2 with KVM, 1 under emulation")
    commands.add_parser("status", help="show the machines and the planted faults")
    shell = commands.add_parser("ssh", help="log in to a node, or run a command there")
    shell.add_argument("name", metavar="NODE")
    shell.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER)
    console = commands.add_parser("console", help="sit at a machine's serial console (Ctrl-] leaves)")
    console.add_argument("name", metavar="MACHINE")
    commands.add_parser("reset", help="back to bare machines, all faults healed")
    commands.add_parser("down", help="stop the machines and remove their disks")
    fault = commands.add_parser("fault", help="'fault list', or 'fault KIND NODE' to plant one")
    fault.add_argument("kind", metavar="KIND")
    fault.add_argument("name", metavar="NODE", nargs="?")
    commands.add_parser("heal", help="undo all planted faults")
    commands.add_parser("packages", help="print the Debian packages that the lab needs on this computer")
    return parser.parse_args(argv)


def show_status(paths: Paths) -> None:
    rows = Lab.of_user(paths).table()
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def show_faults(paths: Paths) -> None:
    state = read_state(paths.state)
    planted = state.faults if state else {}
    for kind, fault in FAULTS.items():
        print(f"{kind:11} {fault.does}" + (f"  [planted: {', '.join(planted[kind])}]" if planted.get(kind) else ""))
    print(f"{'power-on':11} the node gets its power back (heals power-off)")


def change_faults(lab: Lab, args: argparse.Namespace, progress: Progress) -> None:
    if args.command == "heal":
        progress("healed: " + (", ".join(heal(lab)) or "nothing was planted"))
        return
    if args.name is None:
        raise LabError(f"fault {args.kind}: which node? There are {', '.join(lab.machines)}")
    if args.kind == "power-on":
        power_on(lab, args.name)
    else:
        plant(lab, args.kind, args.name)
    progress(f"{args.kind} {args.name}: done")


def dispatch(args: argparse.Namespace) -> None:
    paths = Paths.of_user()
    progress = Progress()
    match args.command:
        case "packages":
            print("\n".join(PACKAGES))
        case "status":
            show_status(paths)
        case "fault" if args.kind == "list":
            show_faults(paths)
        case "ssh":
            node = Lab.of_user(paths).machine(args.name).node
            argv = ssh_argv(paths, node, args.words)
            os.execvp(argv[0], argv)  # noqa: S606 - ssh takes over the terminal
        case "console":
            lab = Lab.of_user(paths)
            attach((paths.machine(SWITCH) if args.name == SWITCH else lab.machine(args.name).folder) / "console.sock")
        case _:
            with locked(paths, progress):
                change(paths, args, progress)


def change(paths: Paths, args: argparse.Namespace, progress: Progress) -> None:
    match args.command:
        case "up":
            up(paths, args.workers, progress)
        case "down":
            if read_state(paths.state) is None:
                progress("no lab is up; nothing to do")
                return
            Lab.of_user(paths).down()
            progress("the lab is down")
        case "reset":
            Lab.of_user(paths).reset(progress)
            progress("the lab is bare")
        case _:
            change_faults(Lab.of_user(paths), args, progress)


def main() -> int:
    try:
        dispatch(parse())
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "lab: interrupted. 'scripts/lab up' goes on from here, 'scripts/lab down' removes what is there",
            file=sys.stderr,
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
