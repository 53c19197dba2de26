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
	"score/nodeagent/steward/direct"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/strays"
	"score/nodeagent/switcher"
	"score/scored/api/jobmap"
	"score/scored/api/scorev1"

	"go.uber.org/zap"
)

// maxRanks bounds a job's ranks on one node: each takes some of the steward's descriptors and of
// the node's process table.
const maxRanks = 4096

// Prepare prepares a job's part, unless it is already here.
func (js *Jobs) Prepare(order *scorev1.Prepare) {
	if js.table.Get(order.GetJobId()) != nil {
		return
	}
	err := jobmap.Expand(order)
	if err == nil {
		err = js.checkOrder(order)
	}
	if err == nil && js.options.CheckReach != nil && order.GetSpec().GetChannelsPerTask() > 0 {
		err = js.options.CheckReach(order.GetPlaces())
	}
	if err != nil {
		js.options.Send(preparedMessage(order.GetJobId(), launch.CodeCluster, fmt.Sprintf("node %s: %v", js.options.Node, err)))
		return
	}
	j := js.newJob(order)
	j.endLaunch = js.options.Pool.Launching()
	j.account.Ordered(realtime.Now())
	j.mark = fmt.Sprintf("%s=%s-%d", strays.Variable, js.options.BootID, j.id)
	order.Spec.Env = append(order.Spec.Env, j.mark)
	js.table.Add(j)
	js.options.Logger.Info("job begins", zap.Uint64("job", j.id), zap.String("user", order.GetUser().GetUser()),
		zap.Int("ranks", len(j.place().GetRanks())))
	js.options.Go(j.prepare)
}

// checkOrder refuses an order that a correct leader does not give, or that the configurations of
// the job's nodes make impossible.
func (js *Jobs) checkOrder(order *scorev1.Prepare) error {
	places := order.GetPlaces()
	if int64(order.GetNodeIndex()) >= int64(len(places)) {
		return errors.New("the order names no place for this node")
	}
	place := places[order.GetNodeIndex()]
	switch {
	case order.GetJobId() == 0:
		return errors.New("the order names no job")
	case place.GetNode() != js.options.Node:
		return fmt.Errorf("the order is for node %s", place.GetNode())
	case len(order.GetSpec().GetArgv()) == 0:
		return errors.New("the order names no program")
	case len(place.GetRanks()) == 0:
		return errors.New("the order gives this node no rank")
	case len(place.GetRanks()) > maxRanks:
		return fmt.Errorf("%d ranks on one node are more than %d; use more nodes", len(place.GetRanks()), maxRanks)
	case order.GetLinksDiffer() != "" && order.GetSpec().GetChannelsPerTask() > 0:
		return errors.New(order.GetLinksDiffer())
	}
	for _, cpu := range place.GetCpus() {
		if int64(cpu) >= int64(len(js.options.CPUs)) {
			return fmt.Errorf("the order gives CPU %d, and the node has %d", cpu, len(js.options.CPUs))
		}
	}
	return nil
}

// prepare gives the job a steward, which prepares it.
func (j *Job) prepare() {
	defer close(j.claimed)
	defer j.step(jobstate.Settled)
	switch err := j.makeReady(); {
	case errors.Is(err, errKilled):
		j.step(jobstate.Stopped)
	case err != nil:
		j.refuse(preparedMessage(j.id, launch.CodeCluster, fmt.Sprintf("node %s: %v", j.options.Node, err)))
	}
}

// errKilled ends a job that was killed before it had a steward.
var errKilled = errors.New("the job was killed")

func (j *Job) makeReady() error {
	if err := j.jobs.endings.Await(j.ctx, j.id, j.order.GetUser().GetUid()); err != nil {
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
		CpuIds:       j.options.CPUs,
		Cgroup:       group,
		MemoryCgroup: memory,
		Node:         j.options.Node,
		Files:        j.owned.NameFiles(),
		SharesCpus:   j.options.SharesCPUs,
		Programs:     programs,
		Hardware:     j.options.Hardware.Path(),

		LeaseUntilNanos: j.leaseUntil(),
		DirectKey:       j.directKey(),
	}
}

// directKey returns the key of the datagrams between the job's stewards; nil: there are none.
func (j *Job) directKey() []byte {
	if len(j.order.GetPlaces()) < 2 || !j.order.GetFencesByMessage() {
		return nil
	}
	secret := string(j.order.GetKey())
	if secret == "" {
		secret = j.options.ClusterKey // the order of a server of a former version
	}
	if secret == "" {
		return nil // the messages go through the agents
	}
	return direct.JobKey(secret, j.options.Cluster, j.id, j.order.GetAttempt())
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
		CPUs:      j.kernelCPUs(),
	}
}

// kernelCPUs returns the CPUs of the job's ranks on this node as the kernel numbers them.
func (j *Job) kernelCPUs() []int {
	place := j.order.GetPlaces()[j.order.GetNodeIndex()]
	cpus := make([]int, 0, len(place.GetCpus()))
	for _, cpu := range place.GetCpus() {
		if int64(cpu) < int64(len(j.options.CPUs)) { // an adopted job may be of an agent with more
			cpus = append(cpus, int(j.options.CPUs[cpu]))
		}
	}
	return cpus
}

// refuse ends a job that cannot start. Its end is not reported separately, unless the leader asks.
func (j *Job) refuse(failure *scorev1.AgentMessage) {
	j.outbox.Keep(failure)
	j.step(jobstate.Refused)
}

func preparedMessage(job uint64, code int, sentence string) *scorev1.AgentMessage {
	return &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Prepared{Prepared: &scorev1.Prepared{
		JobId: job, ExitCode: int32(code), Error: sentence,
	}}}
}
