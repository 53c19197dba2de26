package switcher

import (
	"score/ctxswitch"
	"time"
)

// NoticeKind is the kind of a Notice.
type NoticeKind uint8

// The kinds of notices.
const (
	// NoticeTimeUp: the job has been on for its TimeLimit.
	NoticeTimeUp NoticeKind = iota
	// NoticeTimeNear: the job has been on for its NearLimit.
	NoticeTimeNear
	// NoticeWarn: the job's processes did not stop in time, Late times in a row.
	NoticeWarn
	// NoticeLaunchFailed: Job.Launch returned Err.
	NoticeLaunchFailed
	// NoticeFailed: an order to the container returned Err; given once for a job.
	NoticeFailed
	// NoticeCostly: stopping the job takes Cost of each Slice, so that it is stopped that much
	// earlier; given once for a job.
	NoticeCostly
)

// Notice is a message from the thread to the rest of the agent.
type Notice struct {
	Kind NoticeKind
	Job  ctxswitch.JobID
	Late int
	Err  error

	Cost, Slice time.Duration
}

// maxNotices bounds the notices that wait for a slow reader: some for every job of a crowded node.
// Further notices are counted in Report.LostNotices and dropped.
const maxNotices = 256

// notify gives a notice without blocking: the thread waits for nobody.
func (s *Switcher) notify(n Notice) {
	select {
	case s.notices <- n:
	default:
		s.lostNotices++
	}
}
