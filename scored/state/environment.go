package state

import (
	"score/scored/api/scorev1"
	"slices"

	"google.golang.org/protobuf/proto"
)

// shareEnvironment makes a job share the environment of the job before it if the two are equal. A
// user who submits thousands of jobs from one shell submits the same environment each time, and it
// is most of a job's size.
func (s *State) shareEnvironment(job *Job) {
	before := s.jobs[job.ID-1]
	if before != nil && slices.Equal(before.Spec.GetEnv(), job.Spec.GetEnv()) {
		job.Spec.Env = before.Spec.GetEnv()
	}
}

// withoutEnvironment returns the spec without the parts that only starting the job needs. They make
// up most of its size.
func withoutEnvironment(spec *scorev1.JobSpec) *scorev1.JobSpec {
	slim := proto.Clone(spec).(*scorev1.JobSpec)
	slim.Env, slim.Limits, slim.Staged = nil, nil, nil
	return slim
}
