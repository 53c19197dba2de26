package steward

import (
	"fmt"
	"os"
	"score/nodeagent/cgroup/procgroup"
	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stdiorelay"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"strings"

	"golang.org/x/sys/unix"
)

// prepare accepts a job. A goroutine of its own does everything that can fail before the first
// process and everything that may wait for a file system, so that a kill gets through.
func (s *steward) prepare(order *stewardpb.PrepareJob) {
	if s.job != nil && s.job.id == order.GetJob().GetJobId() {
		if s.outbox.prepared != nil { // a new agent asks again
			s.send(preparedMessage(s.outbox.prepared))
		}
		return
	}
	err := jobmap.Expand(order.GetJob())
	j := newJob(order)
	if reason := order.GetKilledFor(); reason != "" {
		j.killedFor.Store(&reason)
	}
	rules := life.Rules{
		Ranks:         len(j.ranks),
		KillOnBadExit: j.spec.GetKillOnBadExit(),
		Detached:      j.spec.GetDetached(),
		Recover:       j.spec.GetRecover(),
		Respawn:       int(j.spec.GetRespawn()),
	}
	if !s.life.Prepare(s.now(), rules) {
		s.send(preparedMessage(&agentpb.Prepared{JobId: j.id, ExitCode: launch.CodeCluster, Error: errBusy.Error()}))
		return
	}
	s.job = j
	j.note = func(text string) {
		s.loop.Post(func() {
			if s.job == j {
				s.note(text)
			}
		})
	}
	if until := order.GetLeaseUntilNanos(); until != 0 {
		s.setLease(until)
	}
	if err == nil {
		err = j.check()
	}
	if err != nil {
		s.onPrepared(err)
		return
	}
	s.help(func() {
		err := j.prepare(s)
		s.endPreparation(j, err)
	})
}

// endPreparation writes why the job does not start, if so, and has the core loop report the result
// of the preparation. Only a helper may call it, since writing may wait for a file system.
func (s *steward) endPreparation(j *job, err error) {
	explained := j.explain(err)
	s.loop.Post(func() {
		if !explained && j.killedFor.Load() != nil { // the reason has come since
			s.help(func() { s.endPreparation(j, err) })
			return
		}
		s.onPrepared(err)
	})
}

// onPrepared reports the result of the preparation to the agent.
func (s *steward) onPrepared(err error) {
	j := s.job
	if s.life.Phase() != life.Preparing || err != nil {
		j.release(&s.clients)
	} else {
		outputs, f := j.outputs, j.files
		if f != nil {
			j.stored = f.Stored()
		}
		j.outputs, j.files = nil, nil
		s.relay.Begin(&stdiorelay.Job{
			ID: j.id, Attempt: j.order.GetJob().GetAttempt(), NodeIndex: j.order.GetJob().GetNodeIndex(),
			CPUs: j.allCPUs(), Terminal: j.spec.GetTerminal() != nil, Streams: outputs, Files: f,
		})
		s.watchPMIx()
		if j.pmi != nil || j.pmix != nil {
			s.messages = newMessages(j, s.now())
		}
	}
	answer := &agentpb.Prepared{JobId: j.id, Warning: strings.Join(j.warnings, "; ")}
	if err != nil {
		answer.ExitCode = int32(launch.ExitCode(err))
		answer.Error = j.failure(err)
	}
	if s.life.Phase() == life.Preparing {
		if err == nil {
			s.phases.ready = realtime.Now()
		}
		answer.Start = s.phases.message()
		s.outbox.prepared = answer
		s.send(preparedMessage(answer))
	}
	if err != nil {
		s.life.NotPrepared(s.now())
		return
	}
	if j.hwloc && j.order.GetHardware() == "" {
		s.wantHardware()
	}
	s.life.Prepared(s.now(), j.silent && j.hasFirst())
}

// prepare does everything for the job that needs no process of it. Until it returns, the core loop
// does not touch the fields that it uses.
func (j *job) prepare(s *steward) error {
	if os.Geteuid() == 0 { // before anything can fail: storeReason opens files
		u := j.order.GetJob().GetUser()
		j.user = &launch.User{UID: u.GetUid(), GID: u.GetGid(), Groups: u.GetGroups()}
	}
	j.chooseDirectory()
	if s.shm != nil {
		if err := j.checkHidden(); err != nil {
			return err
		}
	}
	if err := j.chooseContainer(s); err != nil {
		return err
	}
	if err := j.resolve(); err != nil {
		return err
	}
	j.chooseLimits(s.forker)
	s.forker.BeginJob(j.user)
	if j.chooseOffer(); j.offer != (offer{}) {
		if err := j.newPMI(s.hardware); err != nil {
			return err
		}
	}
	j.env = j.commonEnv()
	return j.openStreams()
}

// chooseContainer takes the control group that the agent named, or signals.
func (j *job) chooseContainer(s *steward) error {
	dir := j.order.GetCgroup()
	if dir == "" {
		j.container = procgroup.New(os.Getpid())
		// Only descent identifies the job's processes here. A control group knows
		// them without that, and saves a signal for each end of a rank.
		return s.reaper.AdoptOrphans()
	}
	if s.groupErr != nil {
		return fmt.Errorf("the control group %s cannot be used: %w", dir, s.groupErr)
	}
	if s.group == nil || s.group.Dir() != dir {
		return fmt.Errorf("%w: this steward has not the control group %s", errOrder, dir)
	}
	j.container = s.group
	// The time of former jobs if the group is used again; a new group starts at zero.
	j.cpuBefore, _ = s.group.CPUTime()
	if memory := j.order.GetMemoryCgroup(); memory != s.group.MemoryDir() {
		return fmt.Errorf("%w: this steward has not the memory group %s", errOrder, memory)
	}
	return nil
}

// chooseLimits takes the submitter's limits, lowers them to those that ranks here can have, and
// warns of the difference.
func (j *job) chooseLimits(forker *launch.Forker) {
	wanted := make([]launch.Limit, 0, len(j.spec.GetLimits()))
	for _, l := range j.spec.GetLimits() {
		wanted = append(wanted, launch.Limit{Resource: int(l.GetResource()), Soft: l.GetSoft(), Hard: l.GetHard()})
	}
	var misfits []launch.Misfit
	j.limits, misfits = forker.Fit(wanted)
	if len(misfits) == 0 {
		return
	}
	words := make([]string, len(misfits))
	for i, m := range misfits {
		words[i] = m.String()
	}
	j.warnings = append(j.warnings, fmt.Sprintf("node %s may not give the ranks all of your limits; they get %s",
		j.node, strings.Join(words, ", ")))
}

// openStreams opens the files of the ranks' streams and plans the pipes of the others. A rank's
// pipes are made right before it is forked, since every open descriptor makes every fork slower.
func (j *job) openStreams() error {
	if err := j.checkOpenFiles(); err != nil {
		return err
	}
	if j.spec.GetStdinPattern() != "" {
		if err := j.openInputs(); err != nil {
			return err
		}
	}
	for k := range j.ranks {
		for i := range j.streams() {
			j.outputs = append(j.outputs, stdiorelay.NewStream(j.ranks[k].rank, stdiorelay.Stdout+uint32(i)))
		}
	}
	if !j.spec.GetDetached() {
		return nil
	}
	if j.killedFor.Load() != nil { // another node may have written the reason: the file is not truncated
		return errStopped
	}
	var err error
	j.files, err = openFiles(j)
	return err
}

// failure returns the sentence about what failed here.
func (j *job) failure(err error) string { return fmt.Sprintf("node %s: %v", j.node, err) }

const (
	// ownFDs is the number of descriptors that a steward has besides those of ranks, including one
	// batch's ends of pipes.
	ownFDs = 64 + startBatch*fdsPerChild
	// fdsPerChild is the number of descriptors that a rank inherits: three streams and PMI.
	fdsPerChild = 4
	// fdsPerRank is the number of descriptors that stay here for each rank besides its streams: its
	// PMI and PMIx connections and its process.
	fdsPerRank = 3
)

// checkOpenFiles returns an error if the job needs more descriptors than this process may have.
func (j *job) checkOpenFiles() error {
	each := fdsPerRank + j.streams()
	if j.order.GetCgroup() == "" {
		each++ // procgroup keeps one open
	}
	if j.spec.GetDetached() {
		each += j.streams()
	}
	if j.spec.GetStdinPattern() != "" || j.spec.GetStdin() == scorev1.StdinMode_STDIN_MODE_ALL {
		each++
	}
	need := uint64(ownFDs + each*len(j.ranks))
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= need {
		return nil
	}
	return fmt.Errorf("%w: %s on a node %s %d open files here, and the limit is %d; raise the agent's hard limit (ulimit -Hn)",
		errFiles, plural.Of(uint64(len(j.ranks)), "rank", "ranks"), plural.Word(uint64(len(j.ranks)), "takes", "take"), need, limit.Cur)
}
