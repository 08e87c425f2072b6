# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs for the shell of a pod. Constant texts: what differs comes to them as words of an argv, or on stdin.

They need what an image with glibc has: sh, grep, ldd, sha256sum, timeout.
"""

from __future__ import annotations

from typing import List

from .environment import MARK

__all__ = ["AGENT", "end_words", "inspect_words", "start_words", "store_words", "watch_words"]

_INSPECT = """
echo "hostname $(uname -n)"
for tool in grep cut ldd sha256sum timeout; do
  command -v $tool > /dev/null || echo "lacks $tool"
done
if [ ! -e "$1" ]; then echo "problem no such file or directory"
elif [ ! -x "$1" ]; then echo "problem not executable"
else
  echo "sha256 $(sha256sum "$1" | cut -d ' ' -f 1)"
  ldd "$1" 2>&1 | while IFS= read -r line; do echo "ldd $line"; done
fi
env | while IFS= read -r line; do
  case $line in NCCL_*=*) echo "env $line";; esac
done
"""

# What mpirun calls in place of ssh: HOST COMMAND... The request is put down whole, then renamed.
AGENT = """pod=$1
shift
ask=${0%/*}/ask.$$
printf '%s %s\\n' "$pod" "$*" > "$ask.new" && mv "$ask.new" "$ask"
"""

# The far end of the agent: prints each request as one line, until the folder is taken away.
_WATCH = """
cd "$1" || exit 1
while [ -d "$1" ]; do
  for ask in ask.*[0-9]; do
    [ -f "$ask" ] && cat "$ask" && rm -f "$ask"
  done
  sleep 0.5
done
"""

# Values come from a file, so that they stand on no command line; they are taken as they are, never evaluated.
_START = """
while IFS= read -r line; do export "$line"; done < "$1/environment"
shift
exec "$@"
"""

_STORE = 'umask 077 && mkdir -p "$1" && cat > "$1/$2"'

# As nccl/processes.py does it on a host. The sweep itself does not carry the mark.
_END = """
command -v grep > /dev/null && command -v cut > /dev/null || { echo "grep and cut are not there" >&2; exit 3; }
marked() { grep -lsxzF "$1" /proc/[0-9]*/environ | cut -d / -f 3; }
# Without its folder the listener goes by itself.
rm -rf "$2"
[ -z "$(marked "$1")" ] || sleep 1
for signal in TERM KILL KILL; do
  left=$(marked "$1")
  [ -n "$left" ] || break
  for pid in $left; do
    [ $signal = KILL ] || echo "$pid $(cat /proc/$pid/comm 2> /dev/null)"
    kill -s $signal $pid 2> /dev/null
  done
  for second in 1 2 3; do
    [ -n "$(marked "$1")" ] || break
    sleep 1
  done
done
left=$(marked "$1")
[ -z "$left" ] || { echo "still there after SIGKILL:" $left >&2; exit 4; }
"""


def inspect_words(program: str) -> List[str]:
    """Prints a line for each thing: ``hostname``, ``lacks``, ``problem``, ``sha256``, ``ldd``, ``env``."""
    return ["sh", "-c", _INSPECT, "sh", program]


def store_words(folder: str, name: str) -> List[str]:
    return ["sh", "-c", _STORE, "sh", folder, name]


def watch_words(folder: str) -> List[str]:
    return ["sh", "-c", _WATCH, "sh", folder]


def start_words(folder: str, argv: List[str], run_id: str) -> List[str]:
    return ["env", "%s=%s" % (MARK, run_id), "sh", "-c", _START, "sh", folder, *argv]


def end_words(run_id: str, folder: str) -> List[str]:
    """Ends what carries the mark, and removes the folder. Prints "PID name" of what had to be ended."""
    return ["sh", "-c", _END, "sh", "%s=%s" % (MARK, run_id), folder]
