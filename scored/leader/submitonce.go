package leader

import (
	"cmp"
	"context"
	"fmt"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"time"
)

// Key identifies a user's submission, which may be repeated under it until it is answered.
type Key struct {
	Key    [state.KeyBytes]byte
	Digest [state.DigestBytes]byte // of the request
	// Waited is how long ago the submission may first have been carried out; 0: it surely was not.
	Waited time.Duration
}

// submission is a user's key.
type submission struct {
	uid uint32
	key [state.KeyBytes]byte
}

// pendingSubmission is a job that was submitted under a key and is not committed yet.
type pendingSubmission struct {
	job    uint64
	digest [state.DigestBytes]byte
}

// SubmitOnce is like Submit, under a key: a repeated submission gets the answer of the first, and
// is not carried out twice. SubmitOnce refuses a key under which something else was submitted, and
// a key that may have been used and was forgotten.
func (l *Leader) SubmitOnce(ctx context.Context, key Key, spec *scorev1.JobSpec, user *scorev1.Identity, caller Caller) (uint64, error) {
	return consult(ctx, l, func(c *controller, answer func(uint64, error)) { c.submitOnce(key, spec, user, caller, answer) })
}

func (c *controller) submitOnce(key Key, spec *scorev1.JobSpec, user *scorev1.Identity, caller Caller, answer func(uint64, error)) {
	id, err := c.submitted(key, user.GetUid())
	if id == 0 && err == nil {
		j := c.newJob(spec, user)
		j.key = &key
		c.enter(j, caller, answer)
		return
	}
	if j := c.jobs[id]; j != nil && j.ownerDeadline != 0 && !j.over() {
		c.awaitOwner(j) // the client is there, and will attach
	}
	c.call(func(lost error) { answer(id, cmp.Or(lost, err)) })
}

// submitted returns the job that was submitted under the key; 0: there is none.
func (c *controller) submitted(key Key, uid uint32) (uint64, error) {
	of := submission{uid, key.Key}
	was, known := c.entered[of]
	before := int64(0)
	c.readState(func(s *state.State) {
		before = s.KeysBefore()
		if record := s.Submitted(uid, key.Key); record != nil {
			was, known = pendingSubmission{record.Job, record.Digest}, true
		}
	})
	switch {
	case known && was.digest != key.Digest:
		return 0, fmt.Errorf("%w: job %d was submitted under this key, and it is another one; each job needs a key of its own", ErrInvalid, was.job)
	case known:
		return was.job, nil
	case key.Waited > 0 && (c.protocol < protocol.Keys || c.now-key.Waited.Nanoseconds() <= before):
		return 0, fmt.Errorf(
			"%w: the job was submitted %v ago, and it is not known any more whether it was accepted; check with 'scored job list' and 'scored history'",
			ErrState,
			key.Waited.Round(time.Second),
		)
	}
	return 0, nil
}

// putKey records the key of a job that is being queued in its command, and here until the state has
// it.
func (c *controller) putKey(j *job, command *statepb.Submit) {
	if j.key == nil {
		return
	}
	of := submission{j.user.GetUid(), j.key.Key}
	c.entered[of] = pendingSubmission{j.id, j.key.Digest}
	if c.protocol >= protocol.Keys {
		command.Key, command.Digest = j.key.Key[:], j.key.Digest[:]
	}
	c.call(func(error) { delete(c.entered, of) })
}
