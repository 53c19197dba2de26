package jobcodec

import (
	"bytes"
	"score/scored/api/scorev1"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// reader reads the fields of a message. An unknown or malformed field sets ok to false, and the
// whole message goes to the runtime.
type reader struct {
	rest []byte
	ok   bool
	last protowire.Number // the field before
}

// next takes the next field. It returns 0 at the end. Fields must ascend, and only those of lists
// be repeated, as every encoder writes them; the runtime handles everything else.
func (r *reader) next() (field protowire.Number, kind protowire.Type) {
	if !r.ok || len(r.rest) == 0 {
		return 0, 0
	}
	field, kind, n := protowire.ConsumeTag(r.rest)
	if n < 0 || field < r.last {
		r.ok = false
		return 0, 0
	}
	r.rest = r.rest[n:]
	return field, kind
}

// once is like next, for a field that is not a list.
func (r *reader) once(field protowire.Number) {
	r.ok = r.ok && field > r.last
	r.last = field
}

func (r *reader) uint(kind protowire.Type) uint64 {
	value, n := protowire.ConsumeVarint(r.rest)
	return value * r.took(n, kind, protowire.VarintType)
}

func (r *reader) bool(kind protowire.Type) bool { return protowire.DecodeBool(r.uint(kind)) }

// bytes returns a part of the message.
func (r *reader) bytes(kind protowire.Type) []byte {
	value, n := protowire.ConsumeBytes(r.rest)
	if r.took(n, kind, protowire.BytesType) == 0 {
		return nil
	}
	return value
}

// text returns a string that has to be UTF-8.
func (r *reader) text(kind protowire.Type) string {
	value := r.bytes(kind)
	r.ok = r.ok && utf8.Valid(value)
	return string(value)
}

// took skips n bytes, and returns 1, or 0 if the field is not what it should be.
func (r *reader) took(n int, kind, want protowire.Type) uint64 {
	if n < 0 || kind != want {
		r.ok, r.rest = false, nil
		return 0
	}
	r.rest = r.rest[n:]
	return 1
}

// fields calls f with each field of a message, and reports whether all were known and well-formed.
func fields(data []byte, f func(r *reader, field protowire.Number, kind protowire.Type)) bool {
	r := reader{rest: data, ok: true}
	for {
		field, kind := r.next()
		if field == 0 {
			return r.ok
		}
		f(&r, field, kind)
	}
}

func readSubmitted(data []byte, m *scorev1.SubmitResponse) bool {
	var id uint64
	known := fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		r.once(field)
		switch field {
		case 1:
			id = r.uint(kind)
		default:
			r.ok = false
		}
	})
	if known {
		m.JobId = id
	}
	return known
}

// readEvent reads the events that each job has.
func readEvent(data []byte, m *scorev1.AttachEvent) bool {
	var event scorev1.AttachEvent
	known := fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		r.ok = r.ok && event.Event == nil
		switch field {
		case 1:
			state := new(scorev1.AttachEvent_StateChange)
			r.ok = readState(r.bytes(kind), state) && r.ok
			event.Event = &scorev1.AttachEvent_State{State: state}
		case 2:
			output := new(scorev1.Output)
			r.ok = readOutput(r.bytes(kind), output) && r.ok
			event.Event = &scorev1.AttachEvent_Output{Output: output}
		case 5:
			event.Event = &scorev1.AttachEvent_Ended{Ended: r.verdict(kind)}
		case 71:
			event.Event = &scorev1.AttachEvent_InputTaken{InputTaken: r.uint(kind)}
		case 72:
			event.Event = &scorev1.AttachEvent_OutputEnded{OutputEnded: uint32(r.uint(kind))}
		case 73:
			event.Event = &scorev1.AttachEvent_Final{Final: r.verdict(kind)}
		default:
			r.ok = false
		}
	})
	if known {
		m.Event = event.Event
	}
	return known
}

func (r *reader) verdict(kind protowire.Type) *scorev1.Verdict {
	verdict := new(scorev1.Verdict)
	r.ok = readVerdict(r.bytes(kind), verdict) && r.ok
	return verdict
}

func readState(data []byte, m *scorev1.AttachEvent_StateChange) bool {
	return fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		switch field {
		case 1:
			r.once(field)
			m.State = scorev1.JobState(r.uint(kind))
		case 2:
			r.once(field)
			m.Message = string(r.bytes(kind))
		case 3:
			place := new(scorev1.NodePlace)
			r.ok = readPlace(r.bytes(kind), place) && r.ok
			m.Places = append(m.Places, place)
			r.last = field
		default:
			r.ok = false
		}
	})
}

func readPlace(data []byte, m *scorev1.NodePlace) bool {
	return fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		r.once(field)
		switch field {
		case 1:
			m.Node = r.text(kind)
		case 2:
			m.Address = r.text(kind)
		case 3:
			m.Ranks = r.packed(kind)
		case 4:
			m.Cpus = r.packed(kind)
		default:
			r.ok = false
		}
	})
}

// packed reads a list of numbers in its usual form.
func (r *reader) packed(kind protowire.Type) (list []uint32) {
	for data := r.bytes(kind); len(data) > 0; {
		value, n := protowire.ConsumeVarint(data)
		if n < 0 {
			r.ok = false
			return nil
		}
		list, data = append(list, uint32(value)), data[n:]
	}
	return list
}

func readOutput(data []byte, m *scorev1.Output) bool {
	return fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		r.once(field)
		switch field {
		case 1:
			m.Rank = uint32(r.uint(kind))
		case 2:
			m.Stream = uint32(r.uint(kind))
		case 3:
			m.Data = bytes.Clone(r.bytes(kind))
		case 4:
			m.Eof = r.bool(kind)
		case 5:
			m.Mark = new(scorev1.OutputMark)
			r.ok = readMark(r.bytes(kind), m.Mark) && r.ok
		default:
			r.ok = false
		}
	})
}

func readMark(data []byte, m *scorev1.OutputMark) bool {
	return fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		r.once(field)
		switch field {
		case 1:
			m.JobId = r.uint(kind)
		case 2:
			m.NodeIndex = uint32(r.uint(kind))
		case 3:
			m.Sequence = r.uint(kind)
		case 60:
			m.Attempt = uint32(r.uint(kind))
		default:
			r.ok = false
		}
	})
}

func readVerdict(data []byte, m *scorev1.Verdict) bool {
	return fields(data, func(r *reader, field protowire.Number, kind protowire.Type) {
		r.once(field)
		switch field {
		case 1:
			m.Reason = scorev1.EndReason(r.uint(kind))
		case 2:
			m.ExitCode = int32(r.uint(kind))
		case 3:
			m.Message = string(r.bytes(kind))
		case 4:
			m.Rank = int32(r.uint(kind))
		case 5:
			m.Node = r.text(kind)
		default:
			r.ok = false
		}
	})
}
