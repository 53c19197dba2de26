package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
)

// countExit counts a rank's exit once, and ends the gang if the exit requires it.
func (c *controller) countExit(j *job, p *part, exit *agentpb.RankExited) {
	if exit.GetRank() >= j.spec.GetTasks() || j.exits[exit.GetRank()] {
		return
	}
	if j.exits == nil {
		j.exits = make(map[uint32]bool)
	}
	j.exits[exit.GetRank()] = true
	v := failure(exit, p.Node, j.spec, c.memoryLimit(j))
	if v == nil {
		j.countCode(p, int32(exit.GetRank()), exitCode(exit))
		return
	}
	c.onFailure(j, v, exit.GetAtNanos())
}

// countCode makes a rank's exit code the job's if it is the highest.
func (j *job) countCode(p *part, rank, code int32) {
	if code > j.code {
		j.code, j.codeRank, j.codeNode = code, rank, p.Node
	}
}

// exitCode returns the exit code of a rank whose exit does not end the job.
func exitCode(exit *agentpb.RankExited) int32 {
	switch {
	case exit.GetByUs():
		return 0
	case exit.GetSurvived() && exit.GetSignal() != 0:
		return exitSignal + exit.GetSignal()
	case exit.GetSurvived():
		return max(exit.GetExitCode(), 1)
	}
	return exit.GetExitCode()
}

// onAbort handles the abort of the job by a rank, or by its node.
func (c *controller) onAbort(j *job, p *part, abort *agentpb.Abort) {
	v := abortVerdict(abort, p.Node, p.launched)
	c.step(j, evKill{}) // a program that aborts needs no more time
	if j.state != running && j.state != ending || abort.GetAtNanos() == 0 {
		c.step(j, evStop{v})
		return
	}
	c.onFailure(j, v, abort.GetAtNanos())
}

// onFailure ends a job after a rank failed. Ranks fail because others did, and abort when they
// learn of it. The earliest failure is the reason, whichever node reports first.
func (c *controller) onFailure(j *job, v *scorev1.Verdict, at int64) {
	if j.state != ending || j.again != "" {
		j.decidedAt = at
		c.step(j, evStop{v})
		return
	}
	// The exit of the rank that aborted is not another reason.
	if j.decidedAt != 0 && at < j.decidedAt && v.GetRank() != j.verdict.GetRank() {
		j.verdict, j.decidedAt = v, at
	}
}

// exitVerdict returns the verdict of a job whose ranks all exited by themselves.
func (j *job) exitVerdict() *scorev1.Verdict {
	v := &scorev1.Verdict{Reason: exited, ExitCode: j.code, Rank: noRank}
	if j.code != 0 {
		v.Rank, v.Node = j.codeRank, j.codeNode
	}
	if c := j.childVerdict; c.GetReason() == exited && c.GetExitCode() > v.GetExitCode() {
		return c
	}
	if j.unstored != "" {
		v.Message = j.unstored
		if v.GetExitCode() == 0 {
			v.ExitCode = exitCluster
		}
	}
	if p, rank := j.unknownEnd(); p != nil && v.GetExitCode() == 0 {
		return verdict(cluster, exitCluster, "node %s did not report how rank %d ended; see the agent's log there", p.Node, rank)
	}
	return v
}

// unknownEnd returns a rank whose end was not reported, and its part; nil if there is none.
func (j *job) unknownEnd() (*part, uint32) {
	for _, p := range j.parts {
		for _, rank := range p.Ranks {
			if !j.exits[rank] {
				return p, rank
			}
		}
	}
	return nil, 0
}
