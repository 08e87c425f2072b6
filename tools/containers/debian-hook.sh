#!/bin/sh
# mmdebstrap customize hook: keep what the roles will install in a local repository, so that containers need no network.
set -eu
root=$1
chroot "$root" apt-get clean
mkdir -p "$root/srv/repo"
chroot "$root" apt-get --yes --download-only --no-install-recommends install chrony ethtool conntrack socat nftables lldpd rdma-core containerd
mv "$root"/var/cache/apt/archives/*.deb "$root/srv/repo/"
chroot "$root" sh -c 'cd /srv/repo && apt-ftparchive packages . >Packages'
rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/var/lib/apt/lists/*
cat >"$root/etc/apt/sources.list.d/local.sources" <<EOF
# Packages that the container's image was built with; never use trusted=yes on a real machine.
Types: deb
URIs: file:/srv/repo
Suites: ./
Trusted: yes
EOF
chroot "$root" apt-get update
# A container has no consoles to log in on, and nothing to fetch by timer.
chroot "$root" systemctl mask getty@tty1.service console-getty.service apt-daily.timer apt-daily-upgrade.timer systemd-networkd-wait-online.service
rm -f "$root/etc/machine-id" && : >"$root/etc/machine-id"
