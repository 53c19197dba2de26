package message

import "score/nodeagent/pmi/pmix/bfrops"

// Collective is a request for a fence, or to connect or disconnect processes.
type Collective struct {
	Procs []bfrops.Proc
	Infos bfrops.Infos
}

// Keys of directives to requests.
const (
	KeyCollect    = "pmix.collect"        // bool: a fence exchanges data
	KeyTimeout    = "pmix.timeout"        // int, seconds
	KeyImmediate  = "pmix.immediate"      // bool: only what is known already
	KeyHardware   = "pmix.hwlocxml2"      // string: the node's hardware, as hwloc 2 writes it
	KeyWait       = "pmix.wait"           // int: for how many keys; 0: all
	KeyRange      = "pmix.range"          // range
	KeyPersist    = "pmix.persist"        // persistence
	KeyUser       = "pmix.euid"           // uint32, added by libraries
	KeyWorkDir    = "pmix.wdir"           // string
	KeyHost       = "pmix.host"           // string, commas between
	KeyCleanup    = "pmix.reg.cleanup"    // string, commas between: files
	KeyCleanupDir = "pmix.reg.cleanupdir" // string, commas between: directories
	KeyRecurse    = "pmix.clnup.recurse"  // bool
	KeyKeep       = "pmix.clnup.ignore"   // string, commas between: not to be removed
	KeyKill       = "pmix.jctrl.kill"     // bool
	KeySignal     = "pmix.jctrl.sig"      // int
	KeyTerminate  = "pmix.jctrl.term"     // bool
	KeyStdout     = "pmix.log.stdout"     // string
	KeyStderr     = "pmix.log.stderr"     // string
	KeyExitCode   = "pmix.exit.code"
	KeyAffected   = "pmix.evproc"    // proc
	KeyNotDefault = "pmix.evnondef"  // bool: not for default handlers
	KeyFleeting   = "pmix.evnocache" // bool: not for who registers later
	KeyTermStatus = "pmix.job.term.status"
	KeyEventText  = "pmix.evtext" // string
)

// ReadCollective reads a Collective. After a connect, libpmix 6 also sends what it knows of its own
// job and the keys that it has put. The server ignores that, since clients ask for what they need.
func ReadCollective(r *bfrops.Reader) Collective {
	return Collective{Procs: r.Procs(), Infos: r.Infos()}
}

// Write writes the request after its command.
func (m *Collective) Write(w *bfrops.Writer) {
	w.Procs(m.Procs)
	w.Infos(m.Infos)
}
