package jobs

import (
	"context"
	"errors"
	"fmt"
	"score/ctxswitch"
	"score/nodeagent/cgroup"
	"score/nodeagent/jobstate"
	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/strays"
	"score/nodeagent/switcher"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"

	"go.uber.org/zap"
)

// Prepare prepares a job's part, unless it is already here.
func (js *Jobs) Prepare(order *agentpb.Prepare) {
	if js.table.Get(order.GetJobId()) != nil {
		return
	}
	if err := js.expand(order); err != nil {
		js.options.Leader.Send(js.refusal(order.GetJobId(), err))
		return
	}
	j := js.newJob(order)
	j.endLaunch = js.options.Pool.Launching()
	j.account.Ordered(realtime.Now())
	j.mark = fmt.Sprintf("%s=%s-%d", strays.Variable, js.options.Node.BootID, j.id)
	order.Spec.Env = append(order.Spec.Env, j.mark)
	js.table.Add(j)
	js.options.Logger.Info("job begins", zap.Uint64("job", j.id), zap.String("user", order.GetUser().GetUser()),
		zap.Int("ranks", len(j.place().GetRanks())))
	js.options.Go(j.prepare)
}

// expand expands and checks an order.
func (js *Jobs) expand(order *agentpb.Prepare) error {
	if err := jobmap.Expand(order); err != nil {
		return err
	}
	if err := js.options.Node.check(order); err != nil {
		return err
	}
	if order.GetSpec().GetChannelsPerTask() == 0 {
		return nil
	}
	return js.options.CheckReach(order.GetPlaces())
}

// prepare gives the job a steward, which prepares it.
func (j *Job) prepare() {
	defer close(j.claimed)
	defer j.step(jobstate.Settled)
	switch err := j.makeReady(); {
	case errors.Is(err, errKilled):
		j.step(jobstate.Stopped)
	case err != nil:
		j.refuse(j.jobs.refusal(j.id, err))
	}
}

// errKilled ends a job that was killed before it had a steward.
var errKilled = errors.New("the job was killed")

func (j *Job) makeReady() error {
	if err := j.jobs.endings.Await(j.ctx, j.id, j.order.GetUser().GetUid(), j.over); err != nil {
		return err
	}
	if late := j.jobs.endings.Late(); len(late) > 0 {
		j.options.Logger.Warn("a job begins beside processes of jobs that have ended and that cannot be killed",
			zap.Uint64("job", j.id), zap.Uint64s("ended", late))
	}
	killedFor, err := j.stageOrExplain()
	if err != nil {
		return err
	}
	steward, err := j.claimSteward()
	if err != nil {
		return err
	}
	if steward.PrivateShm() {
		j.owned.HasPrivateShm()
	}
	dir, err := j.owned.MakeDir()
	if err != nil {
		return err
	}
	programs := ""
	if killedFor == "" {
		if programs, err = j.options.Files.Link(j.order, dir); err != nil {
			return fmt.Errorf("naming the files that go with the job: %w", j.options.Dirs.NoRoom(err))
		}
	}
	order := j.prepareOrder(steward, programs)
	order.KilledFor = killedFor
	return steward.Prepare(order)
}

// stageOrExplain fetches the job's files. If the job is killed before they are here and its steward
// writes why, it returns the reason: then the job goes on to its steward without them.
func (j *Job) stageOrExplain() (killedFor string, err error) {
	err = j.stage()
	switch {
	case err == nil:
		return "", nil
	case !j.isKilled():
		return "", err
	case j.explains() && j.killReason() != "":
		return j.killReason(), nil
	default:
		return "", errKilled
	}
}

// stage fetches the job's files, unless the job is killed.
func (j *Job) stage() error {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	j.mu.Lock()
	j.unstage = cancel
	if j.state.Killed() { // Forget may have released the files
		cancel()
	} else {
		j.options.Files.Hold(j.order)
	}
	j.mu.Unlock()
	if err := j.options.Files.Fetch(ctx, j.order); err != nil || len(j.order.GetSpec().GetStaged()) == 0 {
		return err
	}
	j.account.Staged(realtime.Now())
	return nil
}

// claimSteward gives the job a steward with the job's limits on memory and processes.
func (j *Job) claimSteward() (*stewardpool.Steward, error) {
	limit := j.order.GetMemoryLimitBytes()
	fresh := 0 < limit && limit < stewardpool.FreshBelow
	user := j.order.GetUser().GetUid()
	steward, err := j.options.Pool.Claim(j.ctx, user, fresh, client.Events{Message: j.onMessage, Closed: j.onStewardLost})
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	j.steward = steward
	j.mu.Unlock()
	if j.step(jobstate.Claimed); j.isEnding() {
		return nil, errKilled
	}
	// If nothing can enforce a limit, the notes in Hello say so.
	if err := steward.LimitMemory(limit); err != nil && !errors.Is(err, cgroup.ErrNoMemoryControl) {
		return nil, err
	}
	if err := steward.LimitProcesses(j.order.GetMaxProcesses()); err != nil && !errors.Is(err, cgroup.ErrNoPidsControl) {
		return nil, err
	}
	return steward, nil
}

// prepareOrder returns the order to the job's steward; programs is the directory of the files that
// were sent with the job, if any.
func (j *Job) prepareOrder(steward *stewardpool.Steward, programs string) *stewardpb.PrepareJob {
	group, memory := steward.Groups()
	return &stewardpb.PrepareJob{
		PmSocket:     j.openChannels(steward),
		Job:          jobmap.Compact(j.order),
		CpuIds:       j.options.Node.CPUs,
		Cgroup:       group,
		MemoryCgroup: memory,
		Node:         j.options.Node.Name,
		Files:        j.owned.NameFiles(),
		SharesCpus:   j.options.Node.SharesCPUs,
		Programs:     programs,
		Hardware:     j.options.Hardware.Path(),

		LeaseUntilNanos: j.leaseUntil(),
		DirectKey:       j.options.Node.directKey(j.order),
	}
}

// switcherJob returns the job's description for the switching thread.
func (j *Job) switcherJob(steward *stewardpool.Steward) switcher.Job {
	return switcher.Job{
		ID:        ctxswitch.JobID(j.id),
		Container: steward.Container,
		Launch:    steward.Launch,
		Signals:   steward.Container.FD() < 0,
		TimeLimit: j.timeLimit(),
		NearLimit: j.nearLimit(),
		CPUs:      j.options.Node.kernelCPUs(j.place()),
	}
}

// refuse ends a job that cannot start. Its end is not reported separately, unless the leader asks.
func (j *Job) refuse(failure *agentpb.AgentMessage) {
	j.outbox.Keep(failure)
	j.step(jobstate.Refused)
}

// refusal returns the message that the node cannot prepare a job.
func (js *Jobs) refusal(job uint64, reason error) *agentpb.AgentMessage {
	return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{
		JobId: job, ExitCode: launch.CodeCluster, Error: fmt.Sprintf("node %s: %v", js.options.Node.Name, reason),
	}}}
}
