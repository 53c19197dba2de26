package message

import "score/nodeagent/pmi/pmix/bfrops"

// The statuses with which a server answers, with PMIx's numbers.
const (
	Success        int32 = 0
	ErrExists      int32 = -11
	ErrCredential  int32 = -12
	ErrUnknownType int32 = -16
	ErrTimeout     int32 = -24
	ErrUnreachable int32 = -25
	ErrBadParam    int32 = -27
	ErrNoResources int32 = -29
	ErrNotFound    int32 = -46
	ErrUnsupported int32 = -47
	ErrPartial     int32 = -52
	ErrDuplicate   int32 = -53
	QueryPartial   int32 = -104
	ErrRestarted   int32 = -4   // a process was started again
	ErrProcEnded   int32 = -200 // without having said good-bye
	ErrProcSignal  int32 = -402
	ErrProcExit    int32 = -404 // with a code other than 0
	ProcEnded      int32 = -201
	JobEnded       int32 = -145
	ErrJobExit     int32 = -187 // a job has left with a code other than 0
)

// WriteStatus writes a reply that is only a status.
func WriteStatus(w *bfrops.Writer, code int32) { w.Status(code) }

// ReadStatus reads a reply that is only a status.
func ReadStatus(r *bfrops.Reader) int32 { return r.Status() }
