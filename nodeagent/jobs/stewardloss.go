package jobs

import (
	"fmt"
	"score/nodeagent/filetransfer"
	"score/nodeagent/jobstate"
	"score/nodeagent/realtime"
	"score/nodeagent/wait"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// onStewardLost handles the end of the connection to the steward. err is nil if the agent closed
// it, because it leaves the job to the next agent or has stopped waiting for the steward.
func (j *Job) onStewardLost(err error) {
	if err == nil || j.IsOver() {
		return
	}
	<-j.claimed
	if j.IsOver() {
		return // it could not start
	}
	j.options.Logger.Warn("a steward was lost", zap.Uint64("job", j.id), zap.Int("steward", j.stewardOf().Pid()), zap.Error(err))
	j.step(jobstate.Lost)
}

// lossReason describes what has happened to the job's steward.
func (j *Job) lossReason() string {
	return fmt.Sprintf("the steward of job %d on node %s, process %d, ended unexpectedly", j.id, j.options.Node.Name, j.stewardOf().Pid())
}

// sweep kills the processes that a lost steward has left. The ranks die with their steward, but the
// processes that they started do not.
func (j *Job) sweep() {
	j.group.PartLost(int(j.order.GetNodeIndex()), j.lossReason())
	steward := j.stewardOf()
	for logged := false; j.options.Forced.Err() == nil; logged = true {
		err := steward.Container.Kill(time.Now().Add(killAttempt))
		if err == nil {
			break
		}
		if !logged {
			j.options.Logger.Warn("processes of a job do not end; they are killed again until they do", zap.Uint64("job", j.id), zap.Error(err))
		}
		wait.Sleep(j.options.Forced, killPause)
	}
	if group, _ := steward.Groups(); group == "" {
		j.killStrays()
	}
	usage := &scorev1.Usage{}
	if cpu, err := steward.CPUTime(); err == nil {
		usage.CpuNanos = cpu.Nanoseconds()
	}
	j.account.SetUsage(usage)
	j.step(jobstate.Swept)
}

// killStrays kills the processes that carry the job's mark. Those that hide it are left, as those
// without it are.
func (j *Job) killStrays() {
	err := j.jobs.strays.Kill(j.options.Forced, filetransfer.User(j.order.GetUser()).UID, j.mark)
	if err != nil && j.options.Forced.Err() == nil {
		j.options.Logger.Warn("processes that a lost steward's job has left may go on", zap.Uint64("job", j.id), zap.Error(err))
	}
}

// reportKilled reports the ranks that died with their steward as killed, since the job goes on
// without them.
func (j *Job) reportKilled() {
	j.Note(j.lossReason() + "; the job goes on without its ranks there, and what they wrote last may be missing")
	j.mu.Lock()
	left := j.state.Left()
	j.mu.Unlock()
	for _, rank := range left {
		j.onRankExited(&agentpb.RankExited{Rank: rank, Signal: int32(unix.SIGKILL), Survived: true, AtNanos: realtime.Now()})
	}
}
