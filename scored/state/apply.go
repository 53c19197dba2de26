package state

import (
	"errors"
	"fmt"
	"slices"

	"score/scored/api/protocol"
	"score/scored/state/statepb"
)

// Apply changes the state by one entry, as a whole: when any of its commands
// does not fit, the error says which, and nothing has changed. The error wraps
// one of this package's sentinels. The state keeps parts of the entry.
func (s *State) Apply(entry *statepb.Entry) error {
	switch {
	case len(entry.GetCommands()) == 0:
		return ErrEmpty
	case entry.GetTimeNanos() < s.nanos:
		return fmt.Errorf("%w: %d after %d", ErrTime, entry.GetTimeNanos(), s.nanos)
	}
	s.undo = s.undo[:0]
	for i, command := range entry.GetCommands() {
		if err := s.apply(command, entry.GetTimeNanos()); err != nil {
			s.rollBack()
			if errors.Is(err, ErrProtocol) {
				return err // a sentence for whoever runs this server
			}
			return fmt.Errorf("command %d (%T): %w", i, command.GetCommand(), err)
		}
	}
	clear(s.undo)
	s.nanos = entry.GetTimeNanos()
	return nil
}

func (s *State) apply(command *statepb.Command, now int64) error {
	if err := understood(Needs(command)); err != nil {
		return err
	}
	switch c := command.GetCommand().(type) {
	case *statepb.Command_RegisterNode:
		return s.registerNode(c.RegisterNode)
	case *statepb.Command_NodeGone:
		return s.nodeGone(c.NodeGone)
	case *statepb.Command_DrainNode:
		return s.drainNode(c.DrainNode, now)
	case *statepb.Command_Submit:
		return s.submit(c.Submit, now)
	case *statepb.Command_Allocate:
		return s.allocate(c.Allocate, now)
	case *statepb.Command_MoveRow:
		return s.moveRow(c.MoveRow)
	case *statepb.Command_Requeue:
		return s.requeue(c.Requeue, now)
	case *statepb.Command_OrderRequeue:
		return s.orderRequeue(c.OrderRequeue)
	case *statepb.Command_OrderEnd:
		return s.orderEnd(c.OrderEnd)
	case *statepb.Command_MarkRunning:
		return s.markRunning(c.MarkRunning)
	case *statepb.Command_End:
		return s.end(c.End, now)
	case *statepb.Command_SetSettings:
		return s.setSettings(c.SetSettings, now)
	case *statepb.Command_PublishName:
		return s.publish(c.PublishName)
	case *statepb.Command_UnpublishName:
		return s.unpublish(c.UnpublishName)
	case *statepb.Command_AddToken:
		return s.addToken(c.AddToken, now)
	case *statepb.Command_RemoveToken:
		return s.removeToken(c.RemoveToken)
	case *statepb.Command_Admit:
		return s.admit(c.Admit, now)
	case *statepb.Command_RenewCertificate:
		return s.renewCertificate(c.RenewCertificate, now)
	case *statepb.Command_RevokeCertificates:
		return s.revokeCertificates(c.RevokeCertificates)
	case *statepb.Command_SetUser:
		return s.setUser(c.SetUser)
	case *statepb.Command_Raise:
		return s.raise(c.Raise, now)
	case *statepb.Command_Charge:
		return s.charge(c.Charge, now)
	default:
		return ErrCommand
	}
}

// rollBack undoes what the commands before the bad one did, last first.
func (s *State) rollBack() {
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	clear(s.undo)
}

// put sets a record (nil takes it away) and remembers how to undo that.
func put[K comparable, V any](s *State, records map[K]*V, key K, record *V) {
	old := records[key]
	set := func(r *V) {
		if r == nil {
			delete(records, key)
			return
		}
		records[key] = r
	}
	set(record)
	s.undo = append(s.undo, func() { set(old) })
}

func (s *State) registerNode(c *statepb.RegisterNode) error {
	n := c.GetNode()
	if n.GetName() == "" || n.GetCpus() == 0 {
		return fmt.Errorf("%w: a node needs a name and a CPU", ErrCommand)
	}
	if s.nodes[n.GetName()] == nil && len(s.nodes) >= MaxNodes {
		return fmt.Errorf("%w: %d nodes", ErrTooMany, MaxNodes)
	}
	next := nodeFromProto(n)
	if known := s.nodes[next.Name]; known != nil {
		next.Drain = known.Drain // an administrator's word, which the agent does not know
	}
	put(s, s.nodes, next.Name, next)
	return nil
}

func (s *State) drainNode(c *statepb.DrainNode, now int64) error {
	node := s.nodes[c.GetNode()]
	if node == nil {
		return fmt.Errorf("%w: %q", ErrUnknownNode, c.GetNode())
	}
	next := *node
	next.Drain = drainFromProto(c.GetDrain())
	if next.Drain != nil {
		next.Drain.Since = now
	}
	put(s, s.nodes, node.Name, &next)
	return nil
}

func (s *State) nodeGone(c *statepb.NodeGone) error {
	if s.nodes[c.GetNode()] == nil {
		return fmt.Errorf("%w: %q", ErrUnknownNode, c.GetNode())
	}
	for _, job := range s.jobs { // any order: one is enough
		if job.Phase != Done && job.hasPlaceOn(c.GetNode()) {
			return fmt.Errorf("%w: %q", ErrNodeInUse, c.GetNode())
		}
	}
	put(s, s.nodes, c.GetNode(), nil)
	return nil
}

func (s *State) submit(c *statepb.Submit, now int64) error {
	switch {
	case c.GetJobId() != s.nextJob:
		return fmt.Errorf("%w: %d, not %d", ErrJobID, c.GetJobId(), s.nextJob)
	case c.GetSpec().GetTasks() == 0 || c.GetUser() == nil:
		return fmt.Errorf("%w: a job needs tasks and a user", ErrCommand)
	case s.Unfinished() >= MaxUnfinished:
		return fmt.Errorf("%w: %d unfinished jobs", ErrTooMany, MaxUnfinished)
	}
	if err := s.noteKey(c, now); err != nil {
		return err
	}
	job := &Job{
		ID: c.GetJobId(), Spec: c.GetSpec(), User: c.GetUser(), Parent: c.GetParentJob(),
		Preput: pairsFromProto(c.GetPreput()), MemoryPerNode: c.GetMemoryPerNodeBytes(),
		Phase: Queued, Submitted: now, Row: -1,
	}
	s.shareEnvironment(job)
	put(s, s.jobs, job.ID, job)
	s.nextJob++
	s.undo = append(s.undo, func() { s.nextJob-- })
	return nil
}

// jobIn finds the job if it is in one of the phases.
func (s *State) jobIn(id JobID, phases ...Phase) (*Job, error) {
	job := s.jobs[id]
	if job == nil {
		return nil, fmt.Errorf("%w: %d", ErrUnknownJob, id)
	}
	if !slices.Contains(phases, job.Phase) {
		return nil, fmt.Errorf("%w: job %d is in %v", ErrPhase, id, job.Phase)
	}
	return job, nil
}

func (s *State) allocate(c *statepb.Allocate, now int64) error {
	job, err := s.jobIn(c.GetJobId(), Queued)
	if err != nil {
		return err
	}
	if c.GetRow() < 0 {
		return fmt.Errorf("%w: row %d", ErrCommand, c.GetRow())
	}
	places, err := s.places(c.GetPlaces(), job.Spec.GetTasks())
	if err != nil {
		return err
	}
	next := *job
	next.Phase, next.Row, next.Places, next.Gang = Allocated, c.GetRow(), places, c.GetGang()
	next.Allocated = now
	next.Attempts++
	next.HeldCPUs = s.held(job, places, c.GetGang())
	put(s, s.jobs, job.ID, &next)
	return nil
}

// places checks that every rank has exactly one place, on CPUs that exist.
func (s *State) places(from []*statepb.Place, tasks uint32) ([]Place, error) {
	places := make([]Place, 0, len(from))
	placed, seenNodes := uint32(0), make(map[string]bool, len(from))
	seen := make([]bool, tasks)
	for _, p := range from {
		node := s.nodes[p.GetNode()]
		switch {
		case node == nil:
			return nil, fmt.Errorf("%w: %q", ErrUnknownNode, p.GetNode())
		case seenNodes[node.Name]:
			return nil, fmt.Errorf("%w: two places on %q", ErrPlaces, node.Name)
		case len(p.GetRanks()) == 0 || !ascending(p.GetRanks()):
			return nil, fmt.Errorf("%w: ranks on %q are not ascending", ErrPlaces, node.Name)
		case len(p.GetCpus()) == 0 || !ascending(p.GetCpus()) || slices.Max(p.GetCpus()) >= node.CPUs:
			return nil, fmt.Errorf("%w: CPUs of %q are not ascending below %d", ErrPlaces, node.Name, node.CPUs)
		}
		seenNodes[node.Name] = true
		for _, rank := range p.GetRanks() {
			if rank >= tasks || seen[rank] {
				return nil, fmt.Errorf("%w: rank %d of %d", ErrPlaces, rank, tasks)
			}
			seen[rank] = true
			placed++
		}
		places = append(places, Place{Node: node.Name, Ranks: p.GetRanks(), CPUs: p.GetCpus(), BootID: node.BootID})
	}
	if placed != tasks {
		return nil, fmt.Errorf("%w: %d of %d ranks", ErrPlaces, placed, tasks)
	}
	return places, nil
}

func ascending(values []uint32) bool {
	for i := 1; i < len(values); i++ {
		if values[i-1] >= values[i] {
			return false
		}
	}
	return true
}

func (s *State) moveRow(c *statepb.MoveRow) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetRow() < 0 {
		return fmt.Errorf("%w: row %d", ErrCommand, c.GetRow())
	}
	next := *job
	next.Row = c.GetRow()
	put(s, s.jobs, job.ID, &next)
	return nil
}

// requeue charges what the attempt has used; the next one is charged beyond it.
func (s *State) requeue(c *statepb.Requeue, now int64) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if job.Phase == Running && !c.GetRestart() {
		return fmt.Errorf("%w: job %d has run", ErrPhase, job.ID)
	}
	next := *job
	next.Usage = atLeast(c.GetUsage(), job.Usage)
	s.book(job, next.Usage, 0, now)
	next.Earlier = next.Usage
	next.Phase, next.Started = Queued, 0
	next.Row, next.Places, next.Gang, next.HeldCPUs, next.Allocated = -1, nil, 0, 0, 0
	if c.GetRestart() {
		next.Restarts++
	}
	next.Because, next.Ordered, next.Ending = c.GetBecause(), "", nil
	for _, service := range job.names {
		put(s, s.names, nameKey{job.User.GetUid(), service}, nil)
	}
	next.names = nil
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) orderRequeue(c *statepb.OrderRequeue) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetBecause() == "" {
		return fmt.Errorf("%w: no reason", ErrCommand)
	}
	next := *job
	next.Ordered, next.Ending = c.GetBecause(), nil
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) orderEnd(c *statepb.OrderEnd) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetVerdict() == nil {
		return fmt.Errorf("%w: no verdict", ErrCommand)
	}
	next := *job
	next.Ordered, next.Ending = "", c.GetVerdict()
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) markRunning(c *statepb.MarkRunning) error {
	job, err := s.jobIn(c.GetJobId(), Allocated)
	if err != nil {
		return err
	}
	next := *job
	next.Phase, next.Started = Running, c.GetStartedNanos()
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) end(c *statepb.End, now int64) error {
	job, err := s.jobIn(c.GetJobId(), Queued, Allocated, Running)
	if err != nil {
		return err
	}
	if c.GetVerdict() == nil {
		return fmt.Errorf("%w: no verdict", ErrCommand)
	}
	next := *job
	next.Phase, next.Row, next.Ended = Done, -1, now
	next.Verdict, next.Usage, next.Start = c.GetVerdict(), atLeast(c.GetUsage(), job.Usage), c.GetStart()
	s.book(job, next.Usage, 1, now)
	next.Spec = withoutEnvironment(job.Spec)
	next.Preput, next.names, next.Ordered, next.Ending = nil, nil, "", nil
	for _, service := range job.names {
		put(s, s.names, nameKey{job.User.GetUid(), service}, nil)
	}
	put(s, s.jobs, job.ID, &next)
	s.keepFinished(job.ID)
	s.keepKey(job.ID)
	return nil
}

// keepFinished remembers one more finished job and forgets the oldest when
// they are too many.
func (s *State) keepFinished(id JobID) {
	before := s.finished
	s.undo = append(s.undo, func() { s.finished = before })
	s.finished = append(s.finished, id)
	s.forgetFinished()
}

func (s *State) setSettings(c *statepb.SetSettings, now int64) error {
	settings := c.GetSettings()
	if settings.GetSliceNanos() <= 0 || settings.GetMaxRows() == 0 {
		return fmt.Errorf("%w: settings need a slice and a row", ErrCommand)
	}
	if settings.GetHistory() != 0 && s.Protocol() < protocol.History {
		return fmt.Errorf("%w: the length of the history in protocol %d", ErrCommand, s.Protocol())
	}
	if settings.GetHistory() > MostFinished {
		return fmt.Errorf("%w: a history of %d jobs", ErrCommand, settings.GetHistory())
	}
	before := s.settings
	if HalfLifeOf(settings) != HalfLifeOf(before) {
		s.decayAll(now)
	}
	s.undo = append(s.undo, func() { s.settings = before })
	s.settings = settings
	s.forgetFinished()
	return nil
}

func (s *State) publish(c *statepb.PublishName) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	key := nameKey{job.User.GetUid(), c.GetService()}
	switch {
	case s.names[key] != nil:
		return fmt.Errorf("%w: %q", ErrNameTaken, c.GetService())
	case len(job.names) >= MaxNamesPerJob:
		return fmt.Errorf("%w: %d names of one job", ErrTooMany, MaxNamesPerJob)
	}
	put(s, s.names, key, &Name{UID: key.uid, Service: key.service, Port: c.GetPort(), Job: job.ID, Once: c.GetOnce()})
	next := *job
	next.names = append(slices.Clone(job.names), c.GetService())
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (s *State) unpublish(c *statepb.UnpublishName) error {
	job, err := s.jobIn(c.GetJobId(), Allocated, Running)
	if err != nil {
		return err
	}
	i := slices.Index(job.names, c.GetService())
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrNameUnknown, c.GetService())
	}
	put(s, s.names, nameKey{job.User.GetUid(), c.GetService()}, nil)
	next := *job
	next.names = slices.Delete(slices.Clone(job.names), i, i+1)
	put(s, s.jobs, job.ID, &next)
	return nil
}

func (j *Job) hasPlaceOn(node string) bool {
	return slices.ContainsFunc(j.Places, func(p Place) bool { return p.Node == node })
}
