package nodeagent

import (
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"score/nodeagent/gossip"
	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/stewardpool"
	"score/scored/api/scorev1"
)

// stewardGone hears that the connection to the steward has ended; err is nil
// when the agent ended it.
func (j *job) stewardGone(err error) {
	if err == nil || j.isOver() {
		return
	}
	<-j.claimed
	steward := j.orphan()
	steward.KillProcess() // if it lives on without a connection
	j.agent.log.Warn("a steward was lost", zap.Uint64("job", j.id), zap.Int("steward", steward.Pid()), zap.Error(err))
	what := fmt.Sprintf("the steward of job %d on node %s, process %d, ended unexpectedly", j.id, j.agent.options.Name, steward.Pid())
	j.gossiper.learn(gossip.PartLost, int(j.order.GetNodeIndex()), 0, what)
	left, goesOn := j.leftBehind()
	if !goesOn {
		j.abort(what + "; look at the agent's log there and submit the job again")
	}
	usage := j.killOrphans(steward)
	if goesOn {
		j.note(what + "; the job goes on without its ranks there, and what they wrote last may be missing")
		j.tellKilled(left)
	}
	j.finish(usage)
}

// orphan notes that nobody will take messages for the steward any more, and returns it.
func (j *job) orphan() *stewardpool.Steward {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.orphaned = true
	return j.steward
}

// leftBehind lists the ranks here whose ends the leader has not been told. goesOn says that the job
// goes on without them: its user wants that of a job that has lost ranks, and it has started.
func (j *job) leftBehind() (ranks []uint32, goesOn bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ranks = slices.Clone(j.place().GetRanks())
	launched := false
	for _, message := range j.kept {
		launched = launched || message.GetLaunched() != nil
		if exit := message.GetRankExited(); exit != nil {
			ranks = slices.DeleteFunc(ranks, func(rank uint32) bool { return rank == exit.GetRank() })
		}
	}
	return ranks, launched && !j.killed && j.order.GetSpec().GetRecover()
}

// abort ends the job on all nodes.
func (j *job) abort(reason string) {
	j.tell(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Abort{Abort: &scorev1.Abort{
		JobId:    j.id,
		Rank:     -1,
		ExitCode: launch.CodeCluster,
		Message:  reason,
	}}}, true)
}

// killOrphans ends what a steward has left behind. The ranks die with their steward; this is for
// what they have started.
func (j *job) killOrphans(steward *stewardpool.Steward) *scorev1.Usage {
	for told := false; j.agent.forced.Err() == nil; told = true {
		err := steward.Container.Kill(time.Now().Add(killAttempt))
		if err == nil {
			break
		}
		if !told {
			j.agent.log.Warn("processes of a job do not end; they are killed again until they do", zap.Uint64("job", j.id), zap.Error(err))
		}
		sleep(j.agent.forced, killPause)
	}
	if group, _ := steward.Groups(); group == "" {
		killStrays(j.agent.forced, j.mark)
	}
	usage := &scorev1.Usage{}
	if cpu, err := steward.CPUTime(); err == nil {
		usage.CpuNanos = cpu.Nanoseconds()
	}
	return usage
}

// tellKilled tells of ranks that died with their steward what it would have told of ranks after
// which the job goes on.
func (j *job) tellKilled(ranks []uint32) {
	for _, rank := range ranks {
		j.hearExited(&scorev1.RankExited{Rank: rank, Signal: int32(unix.SIGKILL), Survived: true, AtNanos: realtime.Now()})
	}
}
