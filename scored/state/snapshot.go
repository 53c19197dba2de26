package state

import (
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"slices"

	"google.golang.org/protobuf/proto"
)

// snapshotFormat is the version of the snapshot's meaning. Other versions are refused, so that an
// older program does not misread newer data.
const snapshotFormat = 1

// raisedFormat is the format of snapshots of logs in a later protocol than the first. Programs that
// do not know protocols refuse it.
const raisedFormat = 2

// Image is the state at one moment. Taking it is cheap, since records never change; it may be
// encoded while later entries are applied.
type Image struct {
	nextJob  JobID
	nanos    int64
	settings *scorev1.Settings
	nodes    []*Node
	jobs     []*Job
	names    []*Name
	users    []*User
	finished []JobID

	tokens       []*Token
	certificates []*Certificate
	protocol     uint32

	submissions []*Submission
	keysBefore  int64
}

// Image captures the state.
func (s *State) Image() *Image {
	jobs := s.Jobs()
	return &Image{
		nextJob: s.nextJob, nanos: s.nanos, settings: s.settings,
		nodes: s.Nodes(), jobs: jobs, names: s.Names(), users: s.Users(),
		finished: s.finished[:len(s.finished):len(s.finished)],
		tokens:   s.Tokens(), certificates: s.Certificates(), protocol: s.protocol,
		submissions: s.submissions.all(jobs), keysBefore: s.submissions.before,
	}
}

// Snapshot returns the whole state in bytes; equal states give equal bytes.
func (s *State) Snapshot() ([]byte, error) { return s.Image().Encode() }

// Encode returns the bytes that Restore reads.
func (i *Image) Encode() ([]byte, error) {
	image := &statepb.Snapshot{
		Format:    snapshotFormat,
		NextJob:   i.nextJob,
		TimeNanos: i.nanos,
		Settings:  i.settings,
		Finished:  i.finished,

		KeysBeforeNanos: i.keysBefore,
	}
	if image.Format = formatOf(i.protocol); image.Format == raisedFormat {
		image.Protocol = i.protocol
	}
	for _, node := range i.nodes {
		image.Nodes = append(image.Nodes, node.proto())
	}
	for _, job := range i.jobs {
		image.Jobs = append(image.Jobs, job.proto())
	}
	for _, name := range i.names {
		image.Names = append(image.Names, &statepb.Name{
			Uid: name.UID, Service: name.Service, Port: name.Port, JobId: name.Job, Once: name.Once, By: name.By.proto(),
		})
	}
	for _, token := range i.tokens {
		image.Tokens = append(image.Tokens, token.proto())
	}
	for _, certificate := range i.certificates {
		image.Certificates = append(image.Certificates, certificate.proto())
	}
	for _, user := range i.users {
		image.Users = append(image.Users, user.proto())
	}
	for _, submission := range i.submissions {
		image.Submissions = append(image.Submissions, submission.proto())
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(image)
}

// formatOf returns the snapshot format for a protocol.
func formatOf(version uint32) uint32 {
	if version > protocol.First {
		return raisedFormat
	}
	return snapshotFormat
}

// Restore makes a state from a snapshot. It returns an error that wraps ErrSnapshot for bytes that
// Snapshot cannot have made.
func Restore(data []byte) (*State, error) {
	image := new(statepb.Snapshot)
	if err := proto.Unmarshal(data, image); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if f := image.GetFormat(); f != formatOf(image.GetProtocol()) {
		return nil, fmt.Errorf("%w: its format is %d, this program reads %d", ErrSnapshot, f, formatOf(image.GetProtocol()))
	}
	if err := understood(image.GetProtocol()); err != nil {
		return nil, err
	}
	s := New()
	s.protocol = max(image.GetProtocol(), protocol.First)
	s.nextJob, s.nanos = image.GetNextJob(), image.GetTimeNanos()
	if image.GetSettings() != nil {
		s.settings = image.GetSettings()
	}
	if err := s.restoreRecords(image); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return s, nil
}

func (s *State) restoreRecords(image *statepb.Snapshot) error {
	if err := s.restoreMembers(image); err != nil {
		return err
	}
	for _, node := range image.GetNodes() {
		s.nodes[node.GetName()] = nodeFromProto(node)
	}
	for _, record := range image.GetUsers() {
		if s.users[record.GetUid()] != nil {
			return fmt.Errorf("user %d occurs twice", record.GetUid())
		}
		s.users[record.GetUid()] = userFromProto(record)
	}
	if err := s.restoreJobs(image); err != nil {
		return err
	}
	if err := s.restoreNames(image); err != nil {
		return err
	}
	return s.restoreSubmissions(image)
}

// restoreJobs restores the jobs, and the order in which the finished ones ended.
func (s *State) restoreJobs(image *statepb.Snapshot) error {
	done := 0
	for _, record := range image.GetJobs() {
		job := jobFromProto(record)
		if job.ID >= s.nextJob || job.Spec == nil || s.jobs[job.ID] != nil {
			return fmt.Errorf("job %d", job.ID)
		}
		s.shareEnvironment(job)
		s.jobs[job.ID] = job
		if job.Phase == Done {
			done++
		}
	}
	s.finished = slices.Clone(image.GetFinished())
	if len(s.finished) != done {
		return fmt.Errorf("%d finished jobs in order, %d in all", len(s.finished), done)
	}
	for _, id := range s.finished {
		if job := s.jobs[id]; job == nil || job.Phase != Done {
			return fmt.Errorf("%w: finished job %d", ErrUnknownJob, id)
		}
		s.remember(s.jobs[id])
	}
	clear(s.undo)
	s.undo = s.undo[:0]
	return nil
}

// restoreNames restores the published names; their jobs must not have ended.
func (s *State) restoreNames(image *statepb.Snapshot) error {
	for _, record := range image.GetNames() {
		job := s.jobs[record.GetJobId()]
		if job == nil || job.Phase == Done {
			return fmt.Errorf("%w: name %q of job %d", ErrUnknownJob, record.GetService(), record.GetJobId())
		}
		job.names = append(job.names, record.GetService())
		s.names[nameKey{record.GetUid(), record.GetService()}] = &Name{
			UID: record.GetUid(), Service: record.GetService(), Port: record.GetPort(), Job: job.ID, Once: record.GetOnce(), By: nameRequest(record.GetBy()),
		}
	}
	return nil
}
