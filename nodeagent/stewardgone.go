package nodeagent

import (
	"fmt"
	"score/nodeagent/jobstate"
	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/strays"
	"score/nodeagent/wait"
	"score/scored/api/scorev1"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// stewardGone hears that the connection to the steward has ended; err is nil
// when the agent ended it.
func (j *job) stewardGone(err error) {
	if err == nil || j.IsOver() {
		return
	}
	<-j.claimed
	if j.IsOver() {
		return // it could not start
	}
	j.agent.log.Warn("a steward was lost", zap.Uint64("job", j.id), zap.Int("steward", j.stewardOf().Pid()), zap.Error(err))
	j.step(jobstate.Lost)
}

// loss says what has happened to the job's steward.
func (j *job) loss() string {
	return fmt.Sprintf("the steward of job %d on node %s, process %d, ended unexpectedly", j.id, j.agent.options.Name, j.stewardOf().Pid())
}

// abort ends the job on all nodes.
func (j *job) abort(reason string) {
	j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Abort{Abort: &scorev1.Abort{
		JobId:    j.id,
		Rank:     -1,
		ExitCode: launch.CodeCluster,
		Message:  reason,
	}}}, true)
}

// sweep ends what a steward has left behind. The ranks die with their steward; this is for
// what they have started.
func (j *job) sweep() {
	j.group.PartLost(int(j.order.GetNodeIndex()), j.loss())
	steward := j.stewardOf()
	for told := false; j.agent.forced.Err() == nil; told = true {
		err := steward.Container.Kill(time.Now().Add(killAttempt))
		if err == nil {
			break
		}
		if !told {
			j.agent.log.Warn("processes of a job do not end; they are killed again until they do", zap.Uint64("job", j.id), zap.Error(err))
		}
		wait.Sleep(j.agent.forced, killPause)
	}
	if group, _ := steward.Groups(); group == "" {
		strays.Kill(j.agent.forced, j.mark)
	}
	usage := &scorev1.Usage{}
	if cpu, err := steward.CPUTime(); err == nil {
		usage.CpuNanos = cpu.Nanoseconds()
	}
	j.account.SetUsage(usage)
	j.step(jobstate.Swept)
}

// reportKilled tells of ranks that died with their steward what it would have told of ranks after
// which the job goes on.
func (j *job) reportKilled() {
	j.note(j.loss() + "; the job goes on without its ranks there, and what they wrote last may be missing")
	j.mu.Lock()
	left := j.state.Left()
	j.mu.Unlock()
	for _, rank := range left {
		j.hearExited(&scorev1.RankExited{Rank: rank, Signal: int32(unix.SIGKILL), Survived: true, AtNanos: realtime.Now()})
	}
}
