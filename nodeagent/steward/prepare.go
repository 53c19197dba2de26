package steward

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"score/nodeagent/cgroup/procgroup"
	"score/nodeagent/launch"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

// prepare takes a job. All that can fail before the first process, and all that
// may wait for a file system, is done by a goroutine of its own, so that a kill
// gets through.
func (s *steward) prepare(order *stewardpb.PrepareJob) {
	if s.job != nil && s.job.id == order.GetJob().GetJobId() {
		if s.mail.prepared != nil { // the agent asks again: it is a new one
			s.send(preparedMessage(s.mail.prepared))
		}
		return
	}
	j := newJob(order)
	rules := life.Rules{
		Ranks:         len(j.ranks),
		KillOnBadExit: j.spec.GetKillOnBadExit(),
		Detached:      j.spec.GetDetached(),
	}
	if !s.life.Prepare(s.now(), rules) {
		s.send(preparedMessage(&scorev1.Prepared{JobId: j.id, ExitCode: launch.CodeCluster, Error: errBusy.Error()}))
		return
	}
	s.job = j
	if err := j.check(); err != nil {
		s.prepared(err)
		return
	}
	s.helpers.Add(1)
	go func() {
		defer s.helpers.Done()
		err := j.prepare(s)
		s.loop.post(func() { s.prepared(err) })
	}()
}

// prepared tells the agent how the preparation went.
func (s *steward) prepared(err error) {
	j := s.job
	if s.life.Phase() == life.Preparing && err == nil {
		err = s.watchRanks()
	}
	if s.life.Phase() != life.Preparing || err != nil {
		j.release()
	}
	answer := &scorev1.Prepared{JobId: j.id, Warning: strings.Join(j.warnings, "; ")}
	if err != nil {
		answer.ExitCode = int32(launch.ExitCode(err))
		answer.Error = fmt.Sprintf("node %s: %v", j.node, err)
	}
	if s.life.Phase() == life.Preparing {
		s.mail.prepared = answer
		s.send(preparedMessage(answer))
	}
	s.life.Prepared(s.now(), err == nil, j.silent)
}

// watchRanks hands the ranks' connections to the loops. From here on the relay
// owns the streams.
func (s *steward) watchRanks() error {
	j := s.job
	if j.pmi != nil {
		for k := range j.ranks {
			if err := s.loop.watch(j.ranks[k].pmi.fd, unix.EPOLLIN, tag{kindPMI, int32(k)}); err != nil {
				return err
			}
		}
	}
	outputs, in, f := j.outputs, j.input, j.files
	j.outputs, j.input, j.files = nil, input{}, nil
	s.relay.post(func() {
		if err := s.relay.start(outputs, in, f); err != nil {
			s.relay.events.note(fmt.Sprintf("the output of the ranks on node %s is lost: %v", j.node, err))
		}
	})
	return nil
}

// prepare does everything for the job that needs no process of it. It touches
// what the core loop leaves alone until it is done.
func (j *job) prepare(s *steward) error {
	if err := j.chooseContainer(s); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		u := j.order.GetJob().GetUser()
		j.user = &launch.User{UID: u.GetUid(), GID: u.GetGid(), Groups: u.GetGroups()}
	}
	path := j.variable("PATH")
	if path == "" {
		path = defaultPath
	}
	var err error
	if j.program, err = launch.Resolve(j.spec.GetArgv()[0], j.spec.GetWorkDir(), path, j.user); err != nil {
		return err
	}
	j.chooseLimits()
	if j.spec.GetMpi() != scorev1.MpiMode_MPI_MODE_NONE {
		j.silent = j.size() > 1 && j.looksLikeMPI()
		if err := j.newPMI(); err != nil {
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
		return nil
	}
	if s.groupErr != nil {
		return fmt.Errorf("the control group %s cannot be used: %w", dir, s.groupErr)
	}
	if s.group == nil || s.group.Dir() != dir {
		return fmt.Errorf("%w: this steward has not the control group %s", errOrder, dir)
	}
	j.container = s.group
	// Of former jobs, should the group be used again; a new one starts at zero.
	j.cpuBefore, _ = s.group.CPUTime()
	if memory := j.order.GetMemoryCgroup(); memory != "" {
		return s.forker.JoinMemory(memory)
	}
	return nil
}

// chooseLimits keeps the submitter's limits that can be given to the ranks here
// and warns of the others.
func (j *job) chooseLimits() {
	for _, l := range j.spec.GetLimits() {
		j.limits = append(j.limits, launch.Limit{Resource: int(l.GetResource()), Soft: l.GetSoft(), Hard: l.GetHard()})
	}
	refused := launch.Refused(j.limits)
	if len(refused) == 0 {
		return
	}
	kept := j.limits[:0]
	for _, l := range j.limits {
		if !contains(refused, l) {
			kept = append(kept, l)
		}
	}
	j.limits = kept
	j.warnings = append(j.warnings,
		fmt.Sprintf("node %s cannot give the ranks these limits: %v", j.node, refused))
}

func contains(limits []launch.Limit, l launch.Limit) bool {
	for _, one := range limits {
		if one == l {
			return true
		}
	}
	return false
}

// openStreams makes the ranks' standard streams.
func (j *job) openStreams() error {
	if j.spec.GetStdinPattern() != "" {
		if err := j.openInputs(); err != nil {
			return err
		}
	}
	var sinks []int
	for k := range j.ranks {
		r := &j.ranks[k]
		sink, err := j.openStdin(r)
		if err == nil {
			err = j.openStdout(r)
		}
		if sink >= 0 {
			sinks = append(sinks, sink)
		}
		j.input = newInput(sinks)
		if err != nil {
			return j.tooMany(err)
		}
	}
	if !j.spec.GetDetached() {
		return nil
	}
	var err error
	j.files, err = openFiles(j)
	return err
}

// openStdin opens a rank's standard input and returns the end to write to, -1
// if nobody will.
func (j *job) openStdin(r *localRank) (sink int, err error) {
	if j.spec.GetStdinPattern() != "" {
		return -1, nil
	}
	mode := j.spec.GetStdin()
	wanted := mode == scorev1.StdinMode_STDIN_MODE_ALL || mode != scorev1.StdinMode_STDIN_MODE_NONE && r.rank == 0
	if !wanted || j.spec.GetDetached() {
		r.child.stdin, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return -1, err
	}
	r.child.stdin, sink, err = pipe()
	if err != nil {
		return -1, err
	}
	return sink, unix.SetNonblock(sink, true)
}

// openStdout opens a rank's standard output and error. A detached job whose
// errors go to the same file has one pipe for both, so that their order stays.
func (j *job) openStdout(r *localRank) error {
	var err error
	if r.child.stdout, err = j.outputPipe(r.rank, stdoutStream); err != nil {
		return err
	}
	if j.spec.GetDetached() && j.together() {
		r.child.stderr = r.child.stdout
		return nil
	}
	r.child.stderr, err = j.outputPipe(r.rank, stderrStream)
	return err
}

// outputPipe makes a pipe and returns the end for the rank.
func (j *job) outputPipe(rank, stream uint32) (child int, err error) {
	read, write, err := pipe()
	if err != nil {
		return -1, err
	}
	j.outputs = append(j.outputs, output{fd: read, rank: rank, stream: stream})
	return write, unix.SetNonblock(read, true)
}

func pipe() (read, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, fmt.Errorf("%w: %w", errFiles, err)
	}
	return fds[0], fds[1], nil
}

// fdsPerRank is how many descriptors a rank takes here until it is forked.
const fdsPerRank = 8

// tooMany says what to do about too many open files.
func (j *job) tooMany(err error) error {
	if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) {
		return err
	}
	return fmt.Errorf("%w; raise the agent's hard limit of open files (ulimit -Hn) to at least %d for %d ranks on a node",
		err, fdsPerRank*len(j.ranks)+fdsPerRank*fdsPerRank, len(j.ranks))
}
