package switcher

import "score/ctxswitch"

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
	// NoticeLaunchFailed: Job.Launch gave Err.
	NoticeLaunchFailed
	// NoticeFailed: an order to the container gave Err; reported once for a job.
	NoticeFailed
)

// Notice is a message of the thread to the rest of the agent.
type Notice struct {
	Kind NoticeKind
	Job  ctxswitch.JobID
	Late int
	Err  error
}

// maxNotices bounds what waits for a slow reader: some for every job of a
// crowded node. What does not fit is counted in Report.LostNotices.
const maxNotices = 256

// notify never blocks: the thread does not wait for anybody.
func (s *Switcher) notify(n Notice) {
	select {
	case s.notices <- n:
	default:
		s.lostNotices++
	}
}
