package jobcodec

import (
	"score/scored/api/scorev1"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// writer appends fields. Fields have implicit presence: one that is zero is not written.
type writer struct {
	out []byte
	ok  bool // false: the message has to go to the runtime
}

func (w *writer) uint(field protowire.Number, value uint64) {
	if value != 0 {
		w.present(field, value)
	}
}

// present writes a field that has explicit presence, also if it is zero.
func (w *writer) present(field protowire.Number, value uint64) {
	w.out = protowire.AppendVarint(protowire.AppendTag(w.out, field, protowire.VarintType), value)
}

// int writes a field of type int32, int64 or an enum; negative values take ten bytes.
func (w *writer) int(field protowire.Number, value int64) { w.uint(field, uint64(value)) }

func (w *writer) bool(field protowire.Number, value bool) { w.uint(field, protowire.EncodeBool(value)) }

// bytes writes bytes, or a string that need not be UTF-8.
func (w *writer) bytes(field protowire.Number, value string) {
	if value != "" {
		w.item(field, value)
	}
}

// item writes an element of a list, which may be empty.
func (w *writer) item(field protowire.Number, value string) {
	w.out = protowire.AppendString(protowire.AppendTag(w.out, field, protowire.BytesType), value)
}

// text writes a string that has to be UTF-8; the runtime has the error.
func (w *writer) text(field protowire.Number, value string) {
	w.ok = w.ok && utf8.ValidString(value)
	w.bytes(field, value)
}

// names writes strings that have to be UTF-8.
func (w *writer) names(field protowire.Number, values []string) {
	for _, value := range values {
		w.ok = w.ok && utf8.ValidString(value)
		w.item(field, value)
	}
}

// message writes a message that is set, though it may have no fields.
func (w *writer) message(field protowire.Number, fields func(*writer)) {
	inner := writer{ok: true}
	fields(&inner)
	w.ok = w.ok && inner.ok
	w.out = protowire.AppendBytes(protowire.AppendTag(w.out, field, protowire.BytesType), inner.out)
}

func (w *writer) submission(m *scorev1.SubmitRequest) {
	if m.GetSpec() != nil {
		w.message(1, func(w *writer) { w.spec(m.GetSpec()) })
	}
	w.text(2, m.GetVersion())
	w.bytes(70, string(m.GetKey()))
	w.int(71, m.GetWaitedNanos())
}

// spec leaves spawned programs, staged files, dependencies and terminals to the runtime: such jobs
// are not short.
func (w *writer) spec(m *scorev1.JobSpec) {
	w.ok = w.ok && len(m.GetCommands()) == 0 && len(m.GetStaged()) == 0 && len(m.GetDependencies()) == 0 && m.GetTerminal() == nil
	w.text(1, m.GetName())
	for _, argument := range m.GetArgv() {
		w.item(2, argument)
	}
	for _, variable := range m.GetEnv() {
		w.item(3, variable)
	}
	w.bytes(4, m.GetWorkDir())
	w.uint(5, uint64(m.GetTasks()))
	w.uint(6, uint64(m.GetNodes()))
	w.uint(7, uint64(m.GetCpusPerTask()))
	w.uint(8, m.GetMemoryPerNodeBytes())
	w.int(9, int64(m.GetPriority()))
	w.bool(10, m.GetExclusive())
	w.bool(11, m.GetOversubscribe())
	w.int(12, m.GetTimeLimitNanos())
	for _, limit := range m.GetLimits() {
		w.message(13, func(w *writer) { w.limit(limit) })
	}
	w.uint(14, uint64(m.GetUmask()))
	w.int(15, int64(m.GetStdin()))
	w.int(16, int64(m.GetMpi()))
	w.int(17, int64(m.GetDistribution()))
	w.bool(18, m.GetKillOnBadExit())
	w.bool(19, m.GetDetached())
	w.bytes(20, m.GetStdoutPattern())
	w.bytes(21, m.GetStderrPattern())
	w.bytes(22, m.GetStdinPattern())
	w.bool(23, m.GetLabel())
	w.names(24, m.GetNodeList())
	w.uint(26, uint64(m.GetChannelsPerTask()))
	w.bool(40, m.GetKillOnDeadlock())
	w.int(41, int64(m.GetExchange()))
	w.text(51, m.GetStageSeed())
	w.bool(52, m.GetAnyDirectory())
	w.bool(60, m.GetRequeue())
	w.bool(65, m.GetRecover())
	w.uint(66, uint64(m.GetRespawn()))
	w.bytes(71, m.GetSearchPath())
	w.bool(72, m.GetCpuEach())
	w.int(73, int64(m.GetWarnSignal()))
	w.int(74, m.GetWarnNanos())
	w.names(75, m.GetExcludeList())
	w.bool(76, m.GetHold())
}

func (w *writer) limit(m *scorev1.ResourceLimit) {
	w.uint(1, uint64(m.GetResource()))
	w.uint(2, m.GetSoft())
	w.uint(3, m.GetHard())
}

// attachment writes the requests that each job has: it is opened, gets input, and is acknowledged.
func (w *writer) attachment(m *scorev1.AttachRequest) {
	switch request := m.GetRequest().(type) {
	case *scorev1.AttachRequest_Open_:
		w.message(1, func(w *writer) { w.opening(request.Open) })
	case *scorev1.AttachRequest_Stdin:
		w.message(2, func(w *writer) { w.input(request.Stdin) })
	case *scorev1.AttachRequest_Acknowledged:
		w.present(70, protowire.EncodeBool(request.Acknowledged))
	case *scorev1.AttachRequest_ReceivedAttempt:
		w.present(71, uint64(request.ReceivedAttempt))
	default:
		w.ok = false
	}
}

func (w *writer) opening(m *scorev1.AttachRequest_Open) {
	w.uint(1, m.GetJobId())
	w.bool(2, m.GetOwner())
	w.bool(3, m.GetNoOutput())
	for _, mark := range m.GetHave() {
		w.message(4, func(w *writer) { w.mark(mark) })
	}
	w.bool(5, m.GetConfirms())
	w.bool(70, m.GetAcknowledges())
	w.uint(71, uint64(m.GetReceivedAttempt()))
}

func (w *writer) input(m *scorev1.Stdin) {
	w.ok = w.ok && m.GetResize() == nil
	w.bytes(1, string(m.GetData()))
	w.bool(2, m.GetEof())
	if m != nil && m.Offset != nil {
		w.present(70, m.GetOffset())
	}
}

func (w *writer) mark(m *scorev1.OutputMark) {
	w.uint(1, m.GetJobId())
	w.uint(2, uint64(m.GetNodeIndex()))
	w.uint(3, m.GetSequence())
	w.uint(60, uint64(m.GetAttempt()))
}

func (w *writer) confirmation(m *scorev1.ConfirmOutputRequest) {
	w.uint(1, m.GetJobId())
	for _, mark := range m.GetMarks() {
		w.message(2, func(w *writer) { w.mark(mark) })
	}
}
