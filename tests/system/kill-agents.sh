# Kills the agents of nodes of `scored dev` with -9, in turn, each when the one before is back; gives up after
# a minute, or when there is none. usage: kill-agents.sh SECONDS-BETWEEN NODE...
agent() { pgrep -f "scored.*agent.*--tied.*$CLUSTER.*/$1.toml" | head -1; }
pause=$1
shift
for node in "$@"; do
	old=$(agent "$node")
	[ -n "$old" ] && kill -9 "$old" || exit 1
	tries=0
	# The process first: the leader may not have noticed yet that the old one has ended.
	until new=$(agent "$node") && [ -n "$new" ] && [ "$new" != "$old" ] && scored node list | grep -q "^$node  *up"; do
		[ $((tries += 1)) -lt 3000 ] || exit 1
		sleep 0.02
	done
	sleep "$pause"
done
