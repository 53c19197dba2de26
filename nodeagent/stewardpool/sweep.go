package stewardpool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/nodeagent/cgroup/procgroup"
	"score/nodeagent/steward/client"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/steward/wire"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// visitWait bounds the survey of a dead agent's stewards: half of the time that the leader
	// gives a node to come back.
	visitWait = 5 * time.Second
	// sweepWait is how long the agent waits for the removal of their remains. The rest is removed
	// later, because the node's other jobs wait for the agent.
	sweepWait = time.Second
)

// Orphan is a steward with a job that an earlier agent has left. It goes on unchanged until Adopt
// or Refuse is called; the caller must call one of them, once.
type Orphan struct {
	// Status is the steward's report of its job. Its order names the job.
	Status  *stewardpb.Status
	steward *Steward
}

// survey asks the stewards of a dead agent of the same name for their state. It returns those whose
// jobs can continue, ends the others, and removes their sockets and groups. It also returns the
// remains that could not be removed in time.
func survey(o *Options) ([]*Orphan, []*remains, error) {
	numbers, err := client.Slots(o.RunDir)
	if err != nil {
		return nil, nil, err
	}
	found := make([]*Orphan, len(numbers))
	failed := make([]error, len(numbers))
	ctx, cancel := context.WithTimeout(context.Background(), visitWait)
	defer cancel()
	var visits sync.WaitGroup
	for i, number := range numbers {
		visits.Go(func() { found[i], failed[i] = inspect(ctx, o, number) })
	}
	visits.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, nil, err
	}
	orphans := slices.DeleteFunc(found, func(o *Orphan) bool { return o == nil })
	groups, left, err := sweep(o, orphans)
	if ended := len(numbers) - len(orphans); ended > 0 || groups > 0 {
		o.Logger.Info("swept away what a dead agent had left", zap.Int("stewards", ended), zap.Int("groups", groups))
	}
	return orphans, left, err
}

// sweep removes all groups that belong to no orphan, concurrently.
func sweep(o *Options, orphans []*Orphan) (groups int, left []*remains, err error) {
	if o.Root == nil {
		return 0, nil, nil
	}
	slots, err := o.Root.Slots()
	if err != nil {
		return 0, nil, err
	}
	deadline := time.Now().Add(sweepWait)
	swept := make([]*remains, 0, len(slots))
	var sweeps sync.WaitGroup
	for _, slot := range slots {
		if slices.ContainsFunc(orphans, func(o *Orphan) bool { return o.steward.Number == slot }) {
			continue
		}
		r := newRemains(slot, func(deadline time.Time) error { return o.Root.SweepSlot(slot, deadline) })
		swept = append(swept, r)
		sweeps.Go(func() { r.err = r.remove(deadline) })
	}
	sweeps.Wait()
	left = slices.DeleteFunc(slices.Clone(swept), func(r *remains) bool { return r.err == nil })
	for _, r := range left {
		o.Logger.Warn("what a dead agent has left cannot be removed yet; it is tried again", zap.Int("slot", r.number), zap.Error(r.err))
	}
	return len(swept) - len(left), left, nil
}

// inspect asks one steward for its state. It returns nil if the steward is not needed; then it has
// ended the steward, unless that does not obey.
func inspect(ctx context.Context, o *Options, number int) (*Orphan, error) {
	socket := client.Socket(o.RunDir, number)
	conn, status, err := client.Connect(ctx, socket)
	if err == nil {
		orphan, err := receive(o, number, conn, status)
		if err == nil {
			return orphan, nil
		}
		if status.GetJobId() != 0 && !status.GetForgotten() {
			o.Logger.Warn("a job that a dead agent has left cannot go on; it is ended",
				zap.Uint64("job", status.GetJobId()), zap.Error(err))
		}
		endSteward(ctx, conn, socket, int(status.GetPid()))
	} else {
		// It is stopped, or too slow: nothing else would end it later.
		client.KillUnresponsive(client.Slot{RunDir: o.RunDir, Number: number, Cluster: o.Cluster, Node: o.Node})
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of a dead agent's steward: %w", err)
	}
	return nil, nil
}

// Why a steward that answers is not taken over.
var (
	errNoJob    = errors.New("its steward has no job")
	errProtocol = errors.New("its steward speaks another protocol: it was started by another version of the agent")
)

// receive returns an orphan for a steward that answers.
func receive(o *Options, number int, conn *client.Conn, status *stewardpb.Status) (_ *Orphan, err error) {
	order := status.GetOrder()
	switch {
	case status.GetProtocol() != wire.Protocol:
		return nil, fmt.Errorf("%w (%s, protocol %d; this one speaks %d)", errProtocol, status.GetVersion(), status.GetProtocol(), wire.Protocol)
	case status.GetJobId() == 0 || status.GetForgotten() || order.GetJob() == nil:
		return nil, errNoJob
	}
	user := order.GetJob().GetUser().GetUid()
	h := &host{
		Number:    number,
		user:      &user,
		cpuBefore: time.Duration(status.GetCpuBeforeNanos()),
		memory:    order.GetJob().GetMemoryLimitBytes(),
		processes: order.GetJob().GetMaxProcesses(),
		onUnused:  func() {},

		privateShm: status.GetPrivateShm(),
		mounts:     unknownMounts,
		renew:      make(chan struct{}),
		lost:       make(chan struct{}),
	}
	if order.GetCgroup() == "" {
		h.Container = procgroup.New(int(status.GetPid()))
	} else if err := h.openGroup(o, order.GetCgroup()); err != nil {
		return nil, err
	}
	if h.process, err = client.Find(client.Socket(o.RunDir, number), int(status.GetPid())); err != nil {
		if h.group != nil {
			h.group.Release()
		}
		return nil, err
	}
	return &Orphan{Status: status, steward: &Steward{Conn: conn, host: h}}, nil
}

// openGroup opens the control group of a slot. It must be dir, the group of the job.
func (s *host) openGroup(o *Options, dir string) error {
	if o.Root == nil {
		return errors.New("it is in a control group, and this agent uses none")
	}
	group, err := o.Root.Open(s.Number)
	if err != nil {
		return err
	}
	if group.Dir() != dir {
		group.Release()
		return fmt.Errorf("it is in the control group %s, and not in %s", dir, group.Dir())
	}
	s.group, s.Container = group, group
	return nil
}

// Adopt takes over the steward, as if this agent had claimed it. From now on events are called,
// first with messages that the dead agent may not have passed on.
func (o *Orphan) Adopt(events client.Events) *Steward {
	s := o.steward
	s.events = events // not read before Listen
	s.Listen(client.Events{Message: s.onMessage, Closed: s.onClosed})
	return s
}

// Stopped reports whether the job's processes were ordered to stop. If the order reached only some
// of them, Stopped stops all.
func (o *Orphan) Stopped() (bool, error) { return o.steward.stopped(o.Status) }

func (s *host) stopped(status *stewardpb.Status) (bool, error) {
	if s.group != nil {
		return s.group.FreezeOrdered()
	}
	ended := make(map[uint32]bool)
	for _, exit := range status.GetExits() {
		ended[exit.GetRank()] = true
	}
	job := status.GetOrder().GetJob()
	place := job.GetPlaces()[job.GetNodeIndex()]
	var pids []int
	for i, pid := range status.GetPids() {
		if i < len(place.GetRanks()) && !ended[place.GetRanks()[i]] && pid > 0 {
			pids = append(pids, int(pid))
		}
	}
	if !procgroup.AnyStopped(pids) {
		return false, nil
	}
	for _, pid := range pids {
		s.Container.Started(pid, pid)
	}
	return true, s.Container.Freeze()
}

// Refuse ends the job of an orphan and removes its remains. It returns when nothing is left, which
// may require Run, or when ctx ends.
func (p *Pool) Refuse(ctx context.Context, o *Orphan) {
	o.steward.Listen(client.Events{Message: func(*stewardpb.FromSteward) {}, Closed: func(error) {}})
	_ = o.steward.Forget() // it fails only for a lost steward, which has ended its job
	select {
	case <-o.steward.Exited():
	case <-ctx.Done():
	}
	left := p.discard(o.steward)
	if left == nil {
		return
	}
	select {
	case <-left.gone:
	case <-ctx.Done():
	}
}

// endSteward makes a steward end its job and exit, by Forget, and reads its last output. It waits
// at most until ctx ends.
func endSteward(ctx context.Context, conn *client.Conn, socket string, pid int) {
	closed := make(chan struct{})
	var exited <-chan struct{} = closed // its pid is not known
	if process, err := client.Find(socket, pid); err == nil {
		exited = process.Done()
	}
	conn.Listen(client.Events{
		Message: func(*stewardpb.FromSteward) {},
		Closed:  func(error) { close(closed) },
	})
	defer conn.Close()
	if conn.Forget() != nil {
		return
	}
	discardOutput(ctx, conn, socket)
	select {
	case <-exited:
	case <-ctx.Done():
	}
}

// discardOutput reads and drops output that nobody else will read.
func discardOutput(ctx context.Context, conn *client.Conn, socket string) {
	output, err := client.DialStdio(ctx, socket, 0, 0)
	if err != nil {
		return
	}
	defer func() { _ = output.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = output.Close() })
	defer stop()
	for {
		out, drained, err := output.Receive()
		if drained || err != nil || conn.Taken(out.GetMark().GetSequence()) != nil {
			return
		}
	}
}
