#!/bin/sh
# What an administrator does with the units, under systemd.
set -eu
fail() {
	echo "failed: $*"
	journalctl --no-pager -u score-server -u score-agent | tail -20
	exit 1
}
until_ok() { # a command
	deadline=$(($(date +%s) + 60))
	until "$@" >/tmp/out 2>&1; do
		[ "$(date +%s)" -lt $deadline ] || { cat /tmp/out; fail "not in time: $*"; }
		sleep 0.05
	done
}
# Without certificates: the host's name may be none that a certificate can have.
printf '[server]\nname = "s1"\n[agent]\nname = "n1"\n' >/etc/score/score.toml
systemctl start score-server score-agent || fail start
until_ok sh -c 'scored metrics | grep "1 up"'
[ "$(scrun -n 1 echo hello)" = hello ] || fail "a program did not run"
systemctl show -p StatusText score-agent | grep "node n1 of cluster score" || fail status

job=$(scrun -d -o /tmp/job.out -n 1 sh -c 'until [ -e /tmp/go ]; do sleep 0.05; done; echo done >/tmp/result')
until_ok sh -c "scored job list | grep -i running"
systemctl reload score-server score-agent || fail reload
systemctl restart score-agent || fail restart
until_ok sh -c 'scored metrics | grep "1 up"'
kill -KILL "$(systemctl show -p MainPID --value score-agent)"
until_ok sh -c '[ "$(systemctl show -p NRestarts --value score-agent)" = 1 ] && systemctl is-active score-agent'
until_ok sh -c 'scored metrics | grep "1 up"'
touch /tmp/go
scored job wait "$job" || fail "the job has failed"
[ "$(cat /tmp/result)" = done ] || fail "the job did not outlive its agent"

job=$(scrun -d -o /tmp/job.out -n 1 sleep 1000)
until_ok sh -c "scored job list | grep -i running"
dpkg -r score >/tmp/out 2>&1 || { cat /tmp/out; fail removal; }
if pgrep -a scored; then fail "the removal has left daemons"; fi
if systemctl list-units --all --plain --no-legend 'score*' | grep .; then fail "the removal has left units"; fi
if pgrep -f "sleep 1000"; then fail "the removal has left a job"; fi
echo "all well"
