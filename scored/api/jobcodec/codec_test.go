package jobcodec

import (
	"fmt"
	"score/scored/api/scorev1"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// sent and received are the messages that are written out here.
var (
	sent     = []proto.Message{new(scorev1.SubmitRequest), new(scorev1.AttachRequest), new(scorev1.ConfirmOutputRequest)}
	received = []proto.Message{new(scorev1.SubmitResponse), new(scorev1.AttachEvent), new(scorev1.ConfirmOutputResponse)}
)

// checkEncode compares what the codec writes with the message.
func checkEncode(t interface{ Errorf(string, ...any) }, m proto.Message) {
	data, err := Codec{}.Marshal(m)
	_, wantErr := proto.Marshal(m)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%v: error %v, the runtime's %v", m, err, wantErr)
		return
	}
	got := m.ProtoReflect().New().Interface()
	if err == nil && (proto.Unmarshal(data, got) != nil || !proto.Equal(got, m)) {
		t.Errorf("%T: wrote %v\nwant %v", m, got, m)
	}
}

// checkDecode compares what the codec reads with what the runtime reads.
func checkDecode(t interface{ Errorf(string, ...any) }, kind proto.Message, data []byte) {
	got, want := kind.ProtoReflect().New().Interface(), kind.ProtoReflect().New().Interface()
	err, wantErr := Codec{}.Unmarshal(data, got), proto.Unmarshal(data, want)
	if (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(got, want) {
		t.Errorf("%T %x: read %v, %v\nwant %v, %v", kind, data, got, err, want, wantErr)
	}
}

// Each field by itself survives both ways. So a field that is added to a message and not to this
// package fails here if the codec loses it.
func TestEachField(t *testing.T) {
	for _, kind := range sent {
		eachField(kind.ProtoReflect(), 0, func(m protoreflect.Message) { checkEncode(t, m.Interface()) })
	}
	for _, kind := range received {
		eachField(kind.ProtoReflect(), 0, func(m protoreflect.Message) {
			data, err := proto.Marshal(m.Interface())
			if err != nil {
				t.Fatal(err)
			}
			checkDecode(t, kind, data)
		})
	}
}

// maxDepth bounds how deep messages are filled: none here is deeper, but for spawned commands.
const maxDepth = 4

// eachField calls f with messages that have one field each, at every depth.
func eachField(kind protoreflect.Message, depth int, f func(protoreflect.Message)) {
	f(kind.New())
	list := kind.Descriptor().Fields()
	for i := range list.Len() {
		field := list.Get(i)
		if field.Message() == nil || depth == maxDepth {
			m := kind.New()
			set(m, field, func(protoreflect.FieldDescriptor) protoreflect.Value { return sample(field) })
			f(m)
			continue
		}
		inner := kind.NewField(field)
		var of protoreflect.Message
		if field.IsList() {
			of = inner.List().NewElement().Message()
		} else {
			of = inner.Message()
		}
		eachField(of, depth+1, func(value protoreflect.Message) {
			m := kind.New()
			set(m, field, func(protoreflect.FieldDescriptor) protoreflect.Value { return protoreflect.ValueOfMessage(value) })
			f(m)
		})
	}
}

// set sets a field, or two elements of a list.
func set(m protoreflect.Message, field protoreflect.FieldDescriptor, value func(protoreflect.FieldDescriptor) protoreflect.Value) {
	if !field.IsList() {
		m.Set(field, value(field))
		return
	}
	list := m.Mutable(field).List()
	list.Append(value(field))
	list.Append(value(field))
}

func sample(field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(-2)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(-7)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(-1 << 40)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(1<<32 - 1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1<<64 - 1)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("ä text")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, 0xff})
	case protoreflect.MessageKind:
		panic("a message below maxDepth")
	default:
		panic(fmt.Sprintf("a field of kind %v has no sample", field.Kind()))
	}
}

// What every short job says is written and read without the runtime.
func TestUsualMessagesNeedNoRuntime(t *testing.T) {
	offset := uint64(0)
	for _, m := range []proto.Message{
		&scorev1.SubmitRequest{Version: "1", Key: []byte("key"), Spec: &scorev1.JobSpec{
			Name: "a.out", Argv: []string{"./a.out", ""}, Env: []string{"A=\xff"}, WorkDir: "/\xfe", Tasks: 4,
			NodeList: []string{"n1"}, ExcludeList: []string{"n2"}, Limits: []*scorev1.ResourceLimit{{Resource: 7, Soft: 1, Hard: 2}}, Detached: true, Priority: -3,
		}},
		&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: &scorev1.AttachRequest_Open{
			JobId: 1, Have: []*scorev1.OutputMark{{JobId: 1}}, ReceivedAttempt: 2,
		}}},
		&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Stdin{Stdin: &scorev1.Stdin{Data: []byte("x"), Offset: &offset}}},
		&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Acknowledged{Acknowledged: true}},
		&scorev1.AttachRequest{Request: &scorev1.AttachRequest_ReceivedAttempt{ReceivedAttempt: 2}},
		&scorev1.ConfirmOutputRequest{JobId: 3, Marks: []*scorev1.OutputMark{{JobId: 3, Sequence: 9, Attempt: 1}}},
	} {
		if _, ok := encode(nil, m); !ok {
			t.Errorf("%v goes to the runtime", m)
		}
		checkEncode(t, m)
	}
	for _, m := range []proto.Message{
		&scorev1.SubmitResponse{JobId: 1 << 50},
		&scorev1.AttachEvent{Event: &scorev1.AttachEvent_State{State: &scorev1.AttachEvent_StateChange{
			State: scorev1.JobState_JOB_STATE_RUNNING, Places: []*scorev1.NodePlace{{Node: "n1", Ranks: []uint32{0, 1}}, {Node: "n2", Cpus: []uint32{3}}},
		}}},
		&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{
			Output: &scorev1.Output{Rank: 1, Data: []byte("\xff"), Mark: &scorev1.OutputMark{Sequence: 1}},
		}},
		&scorev1.AttachEvent{Event: &scorev1.AttachEvent_InputTaken{InputTaken: 0}},
		&scorev1.AttachEvent{Event: &scorev1.AttachEvent_OutputEnded{OutputEnded: 2}},
		&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Final{Final: &scorev1.Verdict{ExitCode: 7}}},
		&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Ended{Ended: &scorev1.Verdict{ExitCode: 7, Message: "rank 0 \xff", Rank: -1, Node: "n1"}}},
		new(scorev1.ConfirmOutputResponse),
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if !decode(data, m.ProtoReflect().New().Interface()) {
			t.Errorf("%v goes to the runtime", m)
		}
		checkDecode(t, m, data)
	}
}

// Names must be UTF-8 both ways, and the error is the runtime's.
func TestNamesAreUTF8(t *testing.T) {
	for _, m := range []proto.Message{
		&scorev1.SubmitRequest{Version: "\xff"},
		&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{Name: "\xff"}},
		&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{NodeList: []string{"n1", "\xff"}}},
		&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{ExcludeList: []string{"n1", "\xff"}}},
		&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{StageSeed: "\xff"}},
	} {
		if _, err := (Codec{}).Marshal(m); err == nil {
			t.Errorf("%v was written", m)
		}
	}
	if err := (Codec{}).Unmarshal([]byte("\x2a\x03\x2a\x01\xff"), new(scorev1.AttachEvent)); err == nil {
		t.Error("a verdict of a node whose name is not UTF-8 was read")
	}
	if err := (Codec{}).Unmarshal(nil, "text"); err == nil {
		t.Error("a text was taken for a message")
	}
	if _, err := (Codec{}).Marshal("text"); err == nil {
		t.Error("a text was taken for a message")
	}
}

// The caller's buffer is used again, so the message must have copied what it keeps.
func TestKeepsNothingOfTheBuffer(t *testing.T) {
	data, err := proto.Marshal(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: &scorev1.Output{Data: []byte("whole")}}})
	if err != nil {
		t.Fatal(err)
	}
	var got scorev1.AttachEvent
	if err := (Codec{}).Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if text := string(got.GetOutput().GetData()); text != "whole" {
		t.Errorf("the output became %q", text)
	}
}

// Messages with several fields at once, lists among them, are written as they are.
func TestManyFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(sent).Draw(t, "message")
		checkEncode(t, draw(t, kind.ProtoReflect(), 0).Interface())
		kind = rapid.SampledFrom(received).Draw(t, "event")
		data, err := proto.Marshal(draw(t, kind.ProtoReflect(), 0).Interface())
		if err != nil {
			t.Fatal(err)
		}
		checkDecode(t, kind, data)
	})
}

func draw(t *rapid.T, kind protoreflect.Message, depth int) protoreflect.Message {
	m, list := kind.New(), kind.Descriptor().Fields()
	for i := range list.Len() {
		field := list.Get(i)
		if !rapid.Bool().Draw(t, string(field.Name())) || depth == maxDepth && field.Message() != nil {
			continue
		}
		set(m, field, func(protoreflect.FieldDescriptor) protoreflect.Value {
			switch {
			case field.Message() == nil:
				return sample(field)
			case field.IsList():
				return protoreflect.ValueOfMessage(draw(t, m.NewField(field).List().NewElement().Message(), depth+1))
			}
			return protoreflect.ValueOfMessage(draw(t, m.NewField(field).Message(), depth+1))
		})
	}
	return m
}

// Whatever a daemon sends is read as the runtime reads it, or refused as there.
func FuzzDecode(f *testing.F) {
	for _, seed := range [][]byte{
		nil,
		{0x08, 0x01},
		{0x2a, 0x02, 0x10, 0x07},
		{0x12, 0x04, 0x1a, 0x02, 'h', 'i'},
		{0x0a, 0x06, 0x1a, 0x04, 0x1a, 0x02, 0x00, 0x01},
		{0x0a, 0x02, 0x08, 0x01, 0x0a, 0x02, 0x08, 0x02},
		{0x2a, 0x04, 0x10, 0x07, 0x10, 0x08},
		{0x2a, 0x04, 0x10, 0x07, 0x08, 0x08},
		{0xb8, 0x04, 0x05},
		{0x2a, 0x7f},
		{0x12, 0x08, 0x2a, 0x02, 0x08, 0x01, 0x2a, 0x02, 0x10, 0x02},
		{0x0a, 0x04, 0x1a, 0x02, 0x18, 0x01},
		{0x0b, 0x0c},
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range received {
			checkDecode(t, kind, data)
		}
	})
}

func BenchmarkSubmission(b *testing.B) {
	m := &scorev1.SubmitRequest{Spec: &scorev1.JobSpec{Argv: []string{"true"}, Env: make([]string, 40)}}
	for b.Loop() {
		if _, err := (Codec{}).Marshal(m); err != nil {
			b.Fatal(err)
		}
	}
}
