package state

import (
	"score/scored/api/scorev1"
	"slices"

	"google.golang.org/protobuf/proto"
)

// shareEnvironment lets a job have the environment of the job before it, if the two are equal: who
// submits thousands of jobs from one shell has thousands of times the same, and it is most of what
// a job takes.
func (s *State) shareEnvironment(job *Job) {
	before := s.jobs[job.ID-1]
	if before != nil && slices.Equal(before.Spec.GetEnv(), job.Spec.GetEnv()) {
		job.Spec.Env = before.Spec.GetEnv()
	}
}

// withoutEnvironment drops what only starting the job needed and what makes
// up most of its size.
func withoutEnvironment(spec *scorev1.JobSpec) *scorev1.JobSpec {
	slim := proto.Clone(spec).(*scorev1.JobSpec)
	slim.Env, slim.Limits, slim.Staged = nil, nil, nil
	return slim
}
