package cli

import (
	"fmt"
	"score/cmd/cmdline"
	"score/scored/api/quote"

	"github.com/spf13/cobra"
)

// foreign maps commands that users of Slurm, flux and other systems try to those that do the same
// here: by the command before them and the word.
var foreign = map[string]map[string]string{
	"scored": {
		"squeue": useJobList, "queue": useJobList, "jobs": useJobList, "ps": useJobList, "qstat": useJobList,
		"scancel": useJobCancel, "cancel": useJobCancel, "kill": useJobCancel, "qdel": useJobCancel,
		"sinfo": useNodeList, "nodes": useNodeList, "resource": useNodeList, "hosts": useNodeList,
		"sacct": useHistory, "acct": useHistory, "accounting": useHistory, "last": useHistory,
		"sreport": useUserList, "sshare": useUserList, "usage": useUserList, "account": useUserList, "accounts": useUserList, "users": useUserList,
		"sstat": useJobShow, "show": useJobShow, "attach": useAttach, "sattach": useAttach,
		"sbatch": useScrun, "submit": useScrun, "batch": useScrun, "run": useScrun, "srun": useScrun,
		"salloc": useScrun, "alloc": useScrun, "exec": useScrun, "start": useScrun,
		"drain": useDrain, "undrain": useResume, "resume": useResume,
		"status": "'scored node list', 'scored job list' and 'scored server list' show the cluster",
		"sdiag":  useMetrics, "stat": useMetrics, "stats": useMetrics,
		"ping": useServerList, "health": useServerList,
		"log": useJournal, "logs": useJournal, "dmesg": useJournal,
		"settings": "'scored config list' shows the settings", "set": "'scored config set' changes a setting",
		"backup": useSnapshotSave,
	},
	"scored job": {
		"kill":     useJobCancel,
		"rm":       useJobCancel,
		"delete":   useJobCancel,
		"stop":     useJobCancel,
		"end":      useJobCancel,
		"raise":    "'scored job signal' sends a signal to every rank",
		"run":      useScrun,
		"submit":   useScrun,
		"start":    useScrun,
		"status":   useJobShow,
		"info":     useJobShow,
		"stat":     useJobShow,
		"stats":    useJobShow,
		"why":      "'scored job explain' shows why a job waits",
		"output":   useAttach,
		"log":      useAttach,
		"logs":     useAttach,
		"tail":     useAttach,
		"restart":  "'scored job requeue' runs a job again",
		"history":  useHistory,
		"suspend":  noStop,
		"resume":   noStop,
		"update":   noUpdate,
		"modify":   noUpdate,
		"set":      noUpdate,
		"priority": noUpdate,
		"urgency":  noUpdate,
	},
	"scored node": {
		"undrain": useResume, "up": useResume, "online": useResume, "down": useDrain, "offline": useDrain, "disable": useDrain, "enable": useResume,
		"delete": useNodeRemove, "rm": useNodeRemove,
		"add": useToken, "create": useToken, "join": useToken, "status": useNodeList, "info": "'scored node show' shows a node",
	},
	"scored user": {
		"add": noUserList, "create": noUserList, "delete": noUserList, "remove": noUserList, "rm": noUserList,
		"modify": useUserSet, "update": useUserSet,
		"limit": useUserSet, "usage": "'scored user show' shows what a user has used",
	},
	"scored config": {
		"show": "'scored config list' shows the settings", "reset": useDefault,
		"unset":  useDefault,
		"reload": "'systemctl reload' makes a daemon read its file again; settings of the cluster change at once",
		"edit":   "'scored config set' changes a setting; the file of the daemons is /etc/score/score.toml",
	},
	"scored server": {
		"add": useServerToken, "create": useServerToken, "join": useServerToken, "status": "'scored server list' shows the servers",
	},
	"scored snapshot": {
		"create": useSnapshotSave, "load": "'scored snapshot restore' restores it on a new server",
	},
	"scored cert": {
		"show": "'scored cert list' shows the certificates", "create": "'scored token create' makes what a daemon joins with; its certificate follows",
	},
}

// The advice for several words.
const (
	useMetrics      = "'scored metrics' shows counters of the cluster"
	useServerList   = "'scored server list' shows which servers are well"
	useNodeRemove   = "'scored node remove' removes a node for good"
	useUserSet      = "'scored user set' sets roles, shares and limits"
	useDefault      = "'scored config set SETTING default' takes a setting back, where there is a default"
	useSnapshotSave = "'scored snapshot save' saves the cluster's state"
	useJobList      = "'scored job list' lists the jobs"
	useJobCancel    = "'scored job cancel' ends jobs"
	useNodeList     = "'scored node list' lists the nodes"
	useHistory      = "'scored history' lists finished jobs"
	useUserList     = "'scored user list' shows what users have used of their shares"
	useJobShow      = "'scored job show' shows a job and its ranks"
	useAttach       = "'scored job attach' shows the output of a job from now on; that of a detached job is in its file"
	useScrun        = "'scrun' runs programs, and 'scrun -d' in the background"
	useDrain        = "'scored node drain' lets a node take no new jobs"
	useResume       = "'scored node resume' lets a drained node take jobs again"
	useJournal      = "'journalctl -u score-server -u score-agent' shows the log of the daemons, which goes to standard error"
	noStop          = "a job that runs cannot be stopped; 'scored job hold' keeps one that waits from its start"
	noUpdate        = "a job keeps what it was submitted with; end it, and submit it again"
	useToken        = "'scored token create' makes a token, with which a node joins: 'scored token create | ssh NODE scored join -'"
	useServerToken  = "'scored token create --role server' makes a token, with which a server joins"
	noUserList      = "users are those of the hosts; 'scored user set' sets their roles, shares and limits"
)

// NoCommand refuses arguments as cmdline.NoArgs does. For a word of another system it says what
// does the same here.
func NoCommand(command *cobra.Command, arguments []string) error {
	if len(arguments) > 0 {
		if instead := foreign[command.CommandPath()][arguments[0]]; instead != "" {
			return fmt.Errorf("there is no command '%s %s': %s", command.CommandPath(), quote.Word(arguments[0]), instead)
		}
	}
	return cmdline.NoArgs(command, arguments)
}
