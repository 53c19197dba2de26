#!/bin/sh
# An administrator installs the packages, runs a cluster, upgrades, removes and purges. /tmp has score_1.deb, score_2.deb, and
# the same of libscore1 and libscore-dev; and pmchannel.c, ring.f90 and pieces.f90, which use what the last has.
set -eu
export HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
# The programs of a checkout may be in the PATH of whoever runs the tests.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /root

fail() {
	echo "failed: $*" >&2
	[ ! -e /tmp/log ] || tail -20 /tmp/log >&2
	exit 1
}
step() { echo "== $*"; }

until_ok() { # a command
	deadline=$(($(date +%s) + 60))
	until "$@" >/tmp/out 2>&1; do
		[ "$(date +%s)" -lt $deadline ] || { cat /tmp/out >&2; fail "not in time: $*"; }
		sleep 0.05
	done
}

quietly() { "$@" >/tmp/out 2>&1 || { cat /tmp/out >&2; fail "$*"; }; }

server() {
	scored server >>/tmp/log 2>&1 &
	server=$!
	until_ok scored node list
}

agent() { # descriptor 3 is its standard input: what sh runs behind it would have none
	scored agent "$@" <&3 >>/tmp/log 2>&1 &
	agent=$!
	until_ok sh -c 'scored metrics | grep "1 up"'
}

end() { # process, signal
	kill "-$2" "$1"
	wait "$1" || fail "a daemon ended with $?"
}

# The index of manual pages takes seconds, and is not ours.
rm -f /var/lib/man-db/auto-update

step install
quietly dpkg -i /tmp/score_1.deb
dpkg --verify score || fail "files differ from the package's"
if dpkg -L score | grep -E '^/(bin|lib|sbin)/'; then fail "it owns what lies behind the links of a merged /usr"; fi
cmp /etc/score/score.toml /usr/share/score/score.toml
[ -z "$(ls /run/score /var/lib/score 2>/dev/null)" ] || fail "something was started"
for name in scored scrun; do
	bash -c ". /usr/share/bash-completion/completions/$name; complete -p $name" >/tmp/out || fail "completion of $name"
	zcat "/usr/share/man/man1/$name.1.gz" | grep -q "^.TH" || fail "man page of $name"
	zcat "/usr/share/score/$name.cdx.json.gz" | grep -q '"pkg:golang/golang.org/x/sys@' || fail "list of what is in $name"
done
if command -v systemd-analyze >/dev/null; then
	systemd-analyze verify /usr/lib/systemd/system/score-server.service /usr/lib/systemd/system/score-agent.service /usr/lib/systemd/system/score-tipc@eth0.service >/tmp/out 2>&1 || true
	if grep score- /tmp/out; then fail "systemd-analyze"; fi
	echo "units verified"
fi

step run
quietly scored init --server s1 --address 127.0.0.1
server
quietly sh -c 'scored token create >/tmp/token'
agent --name n1 --join - 3</tmp/token
[ "$(scrun -n 2 --oversubscribe echo hello)" = "hello
hello" ] || fail "a program did not run"

step "libraries for MPI programs"
if scrun --fabric pm -n 1 sh -c : 2>/tmp/out; then fail "libraries were found"; fi
grep -q "install the package libscore1" /tmp/out || { cat /tmp/out; fail "nothing is said of the package"; }
quietly dpkg -i /tmp/libscore1_1.deb
dpkg --verify libscore1 || fail "files differ from the package's"
zcat /usr/share/score/libscore1.cdx.json.gz | grep -q '"pkg:golang/golang.org/x/sys@' || fail "list of what is in the library"
[ "$(scrun --fabric pm -n 1 sh -c 'echo $LD_LIBRARY_PATH' | sed 's,[^/]*-linux-gnu,TRIPLET,')" = /usr/lib/TRIPLET/score ] ||
	fail "the libraries are not found"
if command -v fi_info >/dev/null; then
	[ "$(scrun --fabric pm -n 1 fi_info --list | head -n 1)" = pm: ] || fail "the provider is not there"
fi

step "programs that use channels"
quietly dpkg -i /tmp/libscore-dev_1.deb
dpkg --verify libscore-dev || fail "files differ from the package's"
[ "$(pkg-config --modversion score)" = 1 ] || fail "score.pc"
zcat /usr/share/man/man3/score_pm.3.gz | grep -q '^.TH "SCORE_PM" 3' || fail "man page of score_pm"
zcat /usr/share/man/man3/score_strerror.3.gz | grep -q '^.so man3/score_pm.3$' || fail "man page of score_strerror"
quietly cc -o pmchannel /tmp/pmchannel.c $(pkg-config --cflags --libs score)
quietly gfortran -J /tmp -o ring /usr/include/score/score_pm.f90 /tmp/ring.f90 $(pkg-config --libs score)
quietly gfortran -J /tmp -o pieces /usr/include/score/score_pm.f90 /usr/include/score/score_skifch.f90 /tmp/pieces.f90 $(pkg-config --libs score)
for program in pmchannel ring pieces; do
	[ "$(scrun -n 2 --oversubscribe --channels 2 ./$program)" = "well
well" ] || fail "$program did not run"
done
rm pmchannel ring pieces

step upgrade
sum=$(cat /etc/score/* 2>/dev/null | cksum)
job=$(scrun -d -o /tmp/job.out -n 1 sh -c 'until [ -e /tmp/go ]; do sleep 0.05; done; echo done >/tmp/result')
until_ok sh -c "scored job list | grep -i running"
quietly dpkg -i /tmp/score_2.deb /tmp/libscore1_2.deb /tmp/libscore-dev_2.deb
[ "$(dpkg-query -W -f '${Version}' score)" = 2 ] || fail "not upgraded"
[ "$sum" = "$(cat /etc/score/* 2>/dev/null | cksum)" ] || fail "the upgrade has changed the configuration"
end "$agent" TERM
agent --name n1 3</dev/null
end "$server" TERM
server
until_ok sh -c 'scored metrics | grep "1 up"'
touch /tmp/go
quietly scored job wait "$job"
[ "$(cat /tmp/result)" = done ] || fail "the job did not survive the upgrade"

step remove
end "$agent" INT
end "$server" TERM
quietly dpkg -r score
[ ! -e /usr/bin/scored ] || fail "the program is still there"
[ -e /var/lib/score/lock ] && [ -e /etc/score/key ] && [ -e /etc/score/score.toml ] || fail "the removal took the cluster away"

step "install again"
quietly dpkg -i /tmp/score_2.deb
server
quietly sh -c "scored history | grep -w $job"

step "purge under a server"
dpkg -P score >/tmp/out 2>&1 || fail "purge"
grep -q "a server still uses /var/lib/score: stop the server" /tmp/out || { cat /tmp/out; fail "nothing is said of the server"; }
[ -e /var/lib/score/lock ] && [ -e /etc/score/key ] || fail "the state was taken away under a server"
end "$server" TERM

step purge
quietly dpkg -i /tmp/score_2.deb
quietly dpkg -P score libscore-dev libscore1
[ ! -e /var/lib/score ] && [ ! -e /etc/score ] && [ ! -e /run/score ] && [ ! -e /var/cache/score ] || fail "the purge left something"
