package scorev1

import "sync"

var registered sync.Once

// register registers all messages with the protobuf runtime. The generated code calls it before it
// uses what is registered. scrun's calls for a job need none of it (package jobcodec), and
// registering when a program starts would cost it half a millisecond.
func register() { registered.Do(registerAll) }

func registerAll() {
	file_score_v1_job_proto_init()
	file_score_v1_user_proto_init()
	file_score_v1_agent_proto_init()
}
