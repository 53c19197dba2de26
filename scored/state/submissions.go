package state

import (
	"fmt"
	"score/scored/state/statepb"
)

const (
	// KeyBytes is the length of a submission's key: 128 random bits do not collide.
	KeyBytes = 16
	// DigestBytes is the length of a SHA-256.
	DigestBytes = 32
	// maxEndedKeys is how many keys of ended jobs are remembered, the latest ones; the key of an
	// unfinished job is always remembered. Clients repeat a submission within seconds. At the
	// highest rate of submissions these are the jobs that end in half a minute, in 16 MB.
	maxEndedKeys = 1 << 16
)

// Submission is the key under which a job was submitted. Each user has a key space of its own.
type Submission struct {
	UID    uint32
	Key    [KeyBytes]byte
	Digest [DigestBytes]byte // of the request
	Job    JobID
	Nanos  int64 // time of the entry
}

type submissionKey struct {
	uid uint32
	key [KeyBytes]byte
}

func (s *Submission) name() submissionKey { return submissionKey{s.UID, s.Key} }

// submissions holds all known keys. Each is in both maps.
type submissions struct {
	byKey map[submissionKey]*Submission
	byJob map[JobID]*Submission
	ended []JobID // jobs with keys, by the time of their ends, at most maxEndedKeys
	// before is when the latest submission with a forgotten key was made; 0: none is forgotten.
	before int64
}

func newSubmissions() submissions {
	return submissions{byKey: make(map[submissionKey]*Submission), byJob: make(map[JobID]*Submission)}
}

// Submitted returns what the user has submitted under a key, or nil.
func (s *State) Submitted(uid uint32, key [KeyBytes]byte) *Submission {
	return s.submissions.byKey[submissionKey{uid, key}]
}

// KeysBefore returns when the latest submission with a forgotten key was made; 0: none is
// forgotten. A submission first made after that is found by Submitted if it was carried out.
func (s *State) KeysBefore() int64 { return s.submissions.before }

// noteKey remembers the key of a job that is being submitted, if it has one.
func (s *State) noteKey(c *statepb.Submit, now int64) error {
	if len(c.GetKey()) == 0 {
		return nil
	}
	if len(c.GetKey()) != KeyBytes || len(c.GetDigest()) != DigestBytes {
		return fmt.Errorf("%w: a key has %d bytes and its digest %d", ErrCommand, KeyBytes, DigestBytes)
	}
	entered := &Submission{
		UID: c.GetUser().GetUid(), Key: [KeyBytes]byte(c.GetKey()), Digest: [DigestBytes]byte(c.GetDigest()), Job: c.GetJobId(), Nanos: now,
	}
	if known := s.submissions.byKey[entered.name()]; known != nil {
		return fmt.Errorf("%w: as job %d", ErrSubmitted, known.Job)
	}
	put(s, s.submissions.byKey, entered.name(), entered)
	put(s, s.submissions.byJob, entered.Job, entered)
	return nil
}

// keepKey keeps the key of a job that ends. If there are too many it forgets the key of the job
// that ended first.
func (s *State) keepKey(id JobID) {
	if s.submissions.byJob[id] == nil {
		return
	}
	ended, before := s.submissions.ended, s.submissions.before
	s.undo = append(s.undo, func() { s.submissions.ended, s.submissions.before = ended, before })
	s.submissions.ended = append(s.submissions.ended, id)
	if len(s.submissions.ended) <= maxEndedKeys {
		return
	}
	oldest := s.submissions.byJob[s.submissions.ended[0]]
	put(s, s.submissions.byKey, oldest.name(), nil)
	put(s, s.submissions.byJob, oldest.Job, nil)
	s.submissions.before = max(before, oldest.Nanos)
	s.submissions.ended = s.submissions.ended[1:]
}

// all returns the submissions of ended jobs by the time of their ends, then the others by job.
func (s *submissions) all(jobs []*Job) []*Submission {
	all := make([]*Submission, 0, len(s.byJob))
	for _, id := range s.ended {
		all = append(all, s.byJob[id])
	}
	for _, job := range jobs {
		if entered := s.byJob[job.ID]; entered != nil && job.Phase != Done {
			all = append(all, entered)
		}
	}
	return all
}

// restoreSubmissions restores the keys; the jobs must have been restored.
func (s *State) restoreSubmissions(image *statepb.Snapshot) error {
	s.submissions.before = image.GetKeysBeforeNanos()
	for _, record := range image.GetSubmissions() {
		if len(record.GetKey()) != KeyBytes || len(record.GetDigest()) != DigestBytes || record.GetJobId() >= s.nextJob {
			return fmt.Errorf("the submission of job %d", record.GetJobId())
		}
		entered := &Submission{
			UID: record.GetUid(), Key: [KeyBytes]byte(record.GetKey()), Digest: [DigestBytes]byte(record.GetDigest()),
			Job: record.GetJobId(), Nanos: record.GetNanos(),
		}
		if s.submissions.byKey[entered.name()] != nil || s.submissions.byJob[entered.Job] != nil {
			return fmt.Errorf("the submission of job %d occurs twice", entered.Job)
		}
		s.submissions.byKey[entered.name()], s.submissions.byJob[entered.Job] = entered, entered
		if job := s.jobs[entered.Job]; job == nil || job.Phase == Done {
			s.submissions.ended = append(s.submissions.ended, entered.Job)
		}
	}
	if len(s.submissions.ended) > maxEndedKeys {
		return fmt.Errorf("%d keys of ended jobs", len(s.submissions.ended))
	}
	return nil
}

func (s *Submission) proto() *statepb.Submission {
	return &statepb.Submission{Uid: s.UID, Key: s.Key[:], Digest: s.Digest[:], JobId: s.Job, Nanos: s.Nanos}
}
