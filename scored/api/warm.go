package api

import (
	"score/scored/api/scorev1"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Warm makes the protobuf runtime build its tables for every message of the
// API and of the given files. It builds them at a message's first use
// otherwise, which costs a process its first job several milliseconds; a
// daemon that waits for work has that time to spare.
func Warm(more ...protoreflect.FileDescriptor) {
	files := append(more,
		scorev1.File_score_v1_job_proto, scorev1.File_score_v1_user_proto, scorev1.File_score_v1_agent_proto)
	for _, file := range files {
		warm(file.Messages())
	}
}

// WarmSubmission does the same for what a program says and hears that submits one
// job and follows it, in the order in which it needs them. It may run beside
// the program's start.
func WarmSubmission() {
	for _, message := range []protoreflect.ProtoMessage{
		(*scorev1.SubmitRequest)(nil), (*scorev1.JobSpec)(nil), (*scorev1.ResourceLimit)(nil), (*scorev1.SubmitResponse)(nil),
		(*scorev1.AttachRequest)(nil), (*scorev1.AttachRequest_Open)(nil), (*scorev1.Stdin)(nil),
		(*scorev1.AttachEvent)(nil), (*scorev1.AttachEvent_StateChange)(nil), (*scorev1.NodePlace)(nil),
		(*scorev1.Output)(nil), (*scorev1.Verdict)(nil),
	} {
		message.ProtoReflect().ProtoMethods()
	}
}

func warm(messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		descriptor := messages.Get(i)
		warm(descriptor.Messages())
		kind, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
		if err != nil {
			continue // entries of maps have no Go type
		}
		kind.New().ProtoMethods()
	}
}
