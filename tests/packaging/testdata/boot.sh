#!/bin/sh
# Boots systemd in a copy of this machine's file system that nobody else sees, which installs the package, makes a
# cluster and runs a script. usage: boot.sh DIRECTORY; DIRECTORY holds score_1.deb and systemd.sh, and gets log.
set -eu
files=$1
base=$files/aside
mkdir -p "$base"
mount -t tmpfs none "$base"
mkdir "$base/upper" "$base/work" "$base/root"
mount -t overlay none -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root"
root=$base/root
mount -t proc none "$root/proc"
mount -t sysfs none "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount -t tmpfs none "$root/run"
mount -t tmpfs none "$root/tmp"
dev=$root/dev
mount -t tmpfs -o dev none "$dev"
for node in "null 3" "zero 5" "full 7" "random 8" "urandom 9"; do
	# shellcheck disable=SC2086 # a name and a number
	set -- $node
	mknod -m 666 "$dev/$1" c 1 "$2"
done
mknod -m 666 "$dev/tty" c 5 0
mkdir "$dev/shm" "$dev/pts" "$dev/mqueue" "$dev/hugepages"
mount -t devpts -o newinstance,ptmxmode=0666 none "$dev/pts"
ln -s pts/ptmx "$dev/ptmx"
ln -s /proc/self/fd "$dev/fd"
mount -t tmpfs none "$dev/shm"
ip link set lo up

mkdir "$root/root/files"
mount --bind "$files" "$root/root/files"
rm -f "$root/var/lib/man-db/auto-update"
chroot "$root" dpkg -i /root/files/score_1.deb >/dev/null
cat >"$root/etc/systemd/system/try.service" <<'EOF'
[Service]
Type=oneshot
ExecStart=/bin/sh /root/files/systemd.sh
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=file:/root/files/log
StandardError=inherit
EOF
cat >"$root/etc/systemd/system/try.target" <<'EOF'
[Unit]
Wants=try.service
DefaultDependencies=no
EOF
exec chroot "$root" env -i container=lxc PATH="$PATH" /lib/systemd/systemd --system --unit=try.target
