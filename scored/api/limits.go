package api

// Limits that servers, agents and scrun check. Machines, which import nothing for them, have the
// same: gang.MaxRanksPerNode, pmi.MaxRespawns.
const (
	// MaxRanksPerNode bounds the ranks of a job on one node: each takes up to seven descriptors of
	// its steward, and a process.
	MaxRanksPerNode = 4096
	// MaxRespawns bounds how often a rank is started again, whoever asks for it: one that fails at
	// once must not fork for ever.
	MaxRespawns = 1000
	// MaxDependencies bounds the jobs that one job waits for: at the end of one of them the state
	// copies the list of each job that waits for it.
	MaxDependencies = 256
	// MaxSignal is SIGRTMAX, Linux's last signal.
	MaxSignal = 64
)
