#!/bin/sh
# mmdebstrap customize hook: turn the tree into something that package management sees as an EL system: dnf and rpm with
# a local repository of small packages under their EL names. Its programs stay Debian's; the os-release comes at start.
set -eu
root=$1
work=$root/tmp/rpms
mkdir -p "$work" "$root/srv/repo" "$root/etc/yum.repos.d"

# chrony is real: Debian's binaries under EL's paths and unit name.
chroot "$root" sh -c 'cd /tmp/rpms && apt-get download chrony && dpkg-deb -x chrony_*.deb chrony'
sed -e 's,/etc/chrony/chrony.conf,/etc/chrony.conf,' -e '/^Alias=/d' \
  "$work/chrony/usr/lib/systemd/system/chrony.service" >"$work/chronyd.service"

spec() { # NAME VERSION [more lines on stdin]
  printf 'Name: %s\nVersion: %s\nRelease: 1.el9\nSummary: %s (stand-in for tests)\nLicense: MIT\n%%global debug_package %%{nil}\n%%global __strip /bin/true\n%%global _build_id_links none\nAutoReqProv: no\n' "$1" "$2" "$1"
  cat
}
spec chrony 4.5 >"$work/chrony.spec" <<'EOF'
%description
chrony.
%install
install -D -m 0755 /tmp/rpms/chrony/usr/sbin/chronyd %{buildroot}/usr/sbin/chronyd
install -D -m 0755 /tmp/rpms/chrony/usr/bin/chronyc %{buildroot}/usr/bin/chronyc
install -D -m 0644 /tmp/rpms/chronyd.service %{buildroot}/usr/lib/systemd/system/chronyd.service
install -d %{buildroot}/etc %{buildroot}/var/lib/chrony
echo 'pool 2.pool.ntp.org iburst' >%{buildroot}/etc/chrony.conf
%files
/usr/sbin/chronyd
/usr/bin/chronyc
/usr/lib/systemd/system/chronyd.service
%config(noreplace) /etc/chrony.conf
/var/lib/chrony
EOF
# So is containerd, with the configuration of Docker's package, which switches Kubernetes' part of it off.
chroot "$root" sh -c 'cd /tmp/rpms && apt-get download containerd runc && for d in containerd_*.deb runc_*.deb; do dpkg-deb -x $d containerd; done'
spec containerd.io 1.7.24 >"$work/containerd.io.spec" <<'EOF'
%description
containerd.
%install
cd /tmp/rpms/containerd
install -D -m 0755 -t %{buildroot}/usr/bin usr/bin/containerd usr/bin/containerd-shim-runc-v2 usr/bin/ctr usr/sbin/runc
install -D -m 0644 -t %{buildroot}/usr/lib/systemd/system usr/lib/systemd/system/containerd.service
install -d %{buildroot}/etc/containerd
echo 'disabled_plugins = ["cri"]' >%{buildroot}/etc/containerd/config.toml
%files
/usr/bin/*
/usr/lib/systemd/system/containerd.service
%config(noreplace) /etc/containerd/config.toml
EOF
for name in ethtool conntrack-tools iproute-tc nftables socat rdma-core lldpd container-selinux ipset python3-dnf-plugin-versionlock; do
  printf '%%description\n%s.\n%%files\n' "$name" | spec "$name" 1.0 >"$work/$name.spec"
done
chroot "$root" sh -c 'for s in /tmp/rpms/*.spec; do rpmbuild --quiet --define "_topdir /tmp/rpms/build" --define "_rpmdir /srv/repo" -bb "$s" || exit 1; done'
# containerd.io comes from a repository of its own, signed with a key that is made here and thrown away.
mkdir -p "$root/srv/signed"
mv "$root"/srv/repo/*/containerd.io-*.rpm "$root/srv/signed/"
cat >"$work/sign.sh" <<'EOF'
set -eu
export GNUPGHOME=/tmp/rpms/gnupg
mkdir -m 0700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'Test packages <packages@example.com>' rsa2048 sign never
gpg --armor --export >/srv/signed/key.asc
gpg --with-colons --list-keys | awk -F: '$1 == "fpr" {print $10; exit}' >/srv/signed/fingerprint
rpmsign --define '_gpg_name packages@example.com' --addsign /srv/signed/*.rpm
gpgconf --kill all
EOF
chroot "$root" sh /tmp/rpms/sign.sh
chroot "$root" createrepo_c --quiet /srv/repo
chroot "$root" createrepo_c --quiet /srv/signed
cat >"$root/etc/yum.repos.d/local.repo" <<'EOF'
[local]
name=Packages that the container's image was built with
baseurl=file:///srv/repo
gpgcheck=0
enabled=1
EOF
# dnf finds $releasever through a package that provides this.
chroot "$root" sh -c 'printf "Name: test-release\nVersion: 9\nRelease: 1\nSummary: r\nLicense: MIT\nBuildArch: noarch\nProvides: system-release(releasever) = 9\nProvides: system-release = 9\n%%description\nr\n%%files\n" >/tmp/rpms/release.spec && rpmbuild --quiet --define "_topdir /tmp/rpms/build" --define "_rpmdir /tmp/rpms" -bb /tmp/rpms/release.spec && rpm -i --nodeps /tmp/rpms/noarch/test-release-9-1.noarch.rpm'
rm -rf "$work"
chroot "$root" systemctl mask getty@tty1.service console-getty.service
rm -f "$root/etc/machine-id" && : >"$root/etc/machine-id"
