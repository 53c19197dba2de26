package api

import (
	"score/scored/api/scorev1"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Warm makes the protobuf runtime build its tables for every message of the users' API and of the
// given files. Otherwise it builds them at a message's first use, which delays a process's first
// job by several milliseconds; a daemon that waits for work has that time to spare.
func Warm(more ...protoreflect.FileDescriptor) {
	files := append(more, scorev1.File_score_v1_job_proto, scorev1.File_score_v1_user_proto)
	for _, file := range files {
		warm(file.Messages())
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
