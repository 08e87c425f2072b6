"""Root file systems for test containers, built by mmdebstrap and cached by a digest of what goes into them.

``python -m tools.containers.trees debian|el`` prints the folder, building it when it is not there yet.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = "trixie"
COMMON = "systemd,systemd-sysv,dbus,udev,python3,iproute2,procps,kmod,hostname,ca-certificates"
INCLUDE = {
    "debian": f"{COMMON},python3-apt,apt-utils,netplan.io,initramfs-tools",
    # the last five are what chrony is linked with
    "el": f"{COMMON},dnf,rpm,python3-dnf,createrepo-c,libedit2,libgnutls30t64,libseccomp2,libcap2,libnettle8t64",
}
# The local repository's index stays.
OPTIONS = ("--quiet", "--variant=minbase", "--skip=cleanup/apt/lists")
# Removed from the finished tree: a trace of apt, and whoever looks for it takes an EL system for Debian.
FORGET = {"debian": (), "el": ("etc/apt", "usr/bin/apt*", "usr/bin/dpkg*", "etc/debian_version", "var/lib/apt")}


def cache_root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpufleet" / "trees"


def digest(kind: str) -> str:
    """Names the tree: another package list or hook is another tree."""
    seed = f"{SUITE} {INCLUDE[kind]} {FORGET[kind]} {OPTIONS}\n".encode() + (HERE / f"{kind}-hook.sh").read_bytes()
    return hashlib.sha256(seed).hexdigest()[:16]


def ensure(kind: str) -> Path:
    """The tree's folder. It is renamed into place when whole, so that a killed build leaves none behind."""
    target = cache_root() / f"{kind}-{digest(kind)}"
    if (target / "usr/bin/python3").exists():
        return target
    if shutil.which("mmdebstrap") is None:
        sys.exit("containers: mmdebstrap is missing; install the package mmdebstrap")
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"containers: building the {kind} tree (about 2 minutes, once)", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{kind}-") as scratch:
        root = Path(scratch) / "root"
        subprocess.run(
            [
                "mmdebstrap",
                *OPTIONS,
                f"--include={INCLUDE[kind]}",
                f'--customize-hook={HERE / f"{kind}-hook.sh"} "$1"',
                SUITE,
                str(root),
            ],
            check=True,
            stdout=sys.stderr,
        )
        for pattern in FORGET[kind]:
            for path in root.glob(pattern):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        root.chmod(0o755)
        root.rename(target)
    return target


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in INCLUDE:
        sys.exit(f"usage: python -m tools.containers.trees {'|'.join(INCLUDE)}")
    print(ensure(sys.argv[1]))
