#!/bin/sh
# Runs a script in a copy of this machine's file system that nobody else sees, with no network but loopback and
# no other processes, and then tells what the script has left in it. usage: aside.sh DIRECTORY SCRIPT
# DIRECTORY holds SCRIPT and what it needs, and is /tmp there.
set -eu
files=$1
script=$2
base=$files/aside
mkdir -p "$base"
mount -t tmpfs none "$base"
mkdir "$base/upper" "$base/work" "$base/root"
mount -t overlay none -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root"
root=$base/root
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs none "$root/run"
mount --bind "$files" "$root/tmp"
# What clusters of this machine have is not there; that it is hidden counts for nothing that was left.
rm -rf "$root/etc/score" "$root/var/lib/score" "$root/var/cache/score"
(cd "$base/upper" && find . ! -type d | sort) >"$base/hidden"
# Nor is what its shells have set for them.
unset SCORE_SOCKET SCORE_FABRIC_DIR SCORE_CONFIG
ip link set lo up
chroot "$root" /bin/sh "/tmp/$script"
echo "left:"
cd "$base/upper"
find . ! -type d | sort | comm -23 - "$base/hidden"
# Directories of the machine are copied before something is changed in them.
find . -type d | sort | while read -r d; do
	[ -d "/$d" ] || echo "$d"
done
