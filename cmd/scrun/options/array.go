package options

import (
	"fmt"
	"score/scored/api/environ"
	"score/scored/api/filename"
	"score/scored/api/scorev1"
	"slices"
)

// arrayIndex is the variable with a job's index in its array.
const arrayIndex = "SCORE_ARRAY_INDEX"

// IsArray reports whether --array was given.
func (o *Options) IsArray() bool { return len(o.Array.Indexes) > 0 }

// SetIndex makes spec, a job of the array, the one with this index. earlier are the numbers of
// those before it.
func (o *Options) SetIndex(spec *scorev1.JobSpec, index uint32, earlier []uint64) {
	spec.Env = IndexEnviron(spec.GetEnv(), index)
	one := *o
	for _, stream := range []*Stream{&one.Stdin, &one.Stdout, &one.Stderr} {
		stream.Pattern = stream.Pattern.WithIndex(index)
	}
	one.setInput(spec, spec.GetWorkDir())
	one.setDetached(spec, spec.GetWorkDir())
	if n := o.Array.AtOnce; n > 0 && len(earlier) >= n {
		spec.Dependencies = append(slices.Clip(o.Dependencies), &scorev1.Dependency{
			Kind: scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_ANY, JobIds: earlier[len(earlier)-n:][:1],
		})
	}
}

// IndexEnviron returns the environment of the job with this index.
func IndexEnviron(env []string, index uint32) []string {
	return environ.Override(env, []string{fmt.Sprintf("%s=%d", arrayIndex, index)})
}

// checkPattern returns why the pattern cannot name the files of this job, or of the first of an
// array, or nil.
func (o *Options) checkPattern(p filename.Pattern) error {
	if o.IsArray() {
		p = p.WithIndex(o.Array.Indexes[0])
	}
	return p.Fits(o.jobName())
}
