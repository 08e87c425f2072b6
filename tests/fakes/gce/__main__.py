"""``python -m tests.fakes.gce --port 8085 --scenario a4x``: a Compute API to try the collection on."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import FakeCompute
from .scenario import PROJECT, SCENARIOS, ZONE
from .server import Request


def main() -> int:
    parser = argparse.ArgumentParser(prog="fake-gce", description="A fake of Google's Compute Engine API on loopback.")
    parser.add_argument("--port", type=int, default=8085)
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="a4x", help="the fleet to start with")
    parser.add_argument("--instant", action="store_true", help="operations are done when they are asked for first")
    parser.add_argument("--pid-file", type=Path, help="write the number of this process to a file")
    parser.add_argument("--quiet", action="store_true", help="do not print each request")
    arguments = parser.parse_args()
    try:
        fake = FakeCompute(SCENARIOS[arguments.scenario](), port=arguments.port)
    except OSError as exc:
        print(f"fake-gce: cannot listen on port {arguments.port}: {exc}. Choose another with --port.", file=sys.stderr)
        return 2
    if arguments.pid_file:
        arguments.pid_file.write_text(str(os.getpid()))
    if arguments.instant:
        fake.store.operation_reads = 1
    if not arguments.quiet:
        fake.on_request = _print
    with fake:
        print(f"fake-gce: {fake.url} (project {PROJECT}, zone {ZONE}, scenario {arguments.scenario}); Ctrl-C ends it")
        sys.stdout.flush()
        try:
            fake.closing.wait()
        except KeyboardInterrupt:
            print()
    return 0


def _print(request: Request, status: int) -> None:
    print(f"{status} {request.method} {request.path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
