package leader

import (
	"fmt"
	"maps"
	"score/scored/api/plural"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"slices"
)

const (
	after      = scorev1.DependencyKind_DEPENDENCY_KIND_AFTER
	afterAny   = scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_ANY
	afterOK    = scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_OK
	afterNotOK = scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_NOT_OK
)

// maxUnmetShown bounds the jobs that a sentence about a waiting job names.
const maxUnmetShown = 4

// dependents are the jobs that wait for others, by the job that they wait for and their own number.
type dependents map[uint64]map[uint64]*job

func (d dependents) add(j *job) {
	for on := range j.unmet {
		if d[on] == nil {
			d[on] = make(map[uint64]*job)
		}
		d[on][j.id] = j
	}
}

func (d dependents) remove(j *job, on uint64) {
	delete(d[on], j.id)
	if len(d[on]) == 0 {
		delete(d, on)
	}
}

// of returns the jobs that wait for a job, by number.
func (d dependents) of(on uint64) []*job {
	jobs := make([]*job, 0, len(d[on]))
	for _, id := range slices.Sorted(maps.Keys(d[on])) {
		jobs = append(jobs, d[on][id])
	}
	return jobs
}

// outcome is what has become of a dependency.
type outcome int

const (
	pending outcome = iota
	met
	failed // it can never be satisfied
)

// outcomeOf returns what becomes of a dependency at the end of a job. It depends on what every user may
// see of that job.
func outcomeOf(kind scorev1.DependencyKind, v *scorev1.Verdict) outcome {
	if kind == afterOK && v.GetExitCode() != 0 || kind == afterNotOK && v.GetExitCode() == 0 {
		return failed
	}
	return met
}

// kindsOf returns the kinds of a job's dependencies by the job that they are on.
func kindsOf(spec *scorev1.JobSpec) map[uint64]scorev1.DependencyKind {
	if len(spec.GetDependencies()) == 0 {
		return nil
	}
	kinds := make(map[uint64]scorev1.DependencyKind)
	for _, d := range spec.GetDependencies() {
		for _, on := range d.GetJobIds() {
			kinds[on] = d.GetKind()
		}
	}
	return kinds
}

// verdictOf returns the verdict of a job that is done; nil if it ended too long ago.
func (c *controller) verdictOf(id uint64) (v *scorev1.Verdict) {
	if j := c.jobs[id]; j != nil {
		return j.verdict
	}
	c.readState(func(s *state.State) {
		if record := s.Job(id); record != nil {
			v = record.Verdict
		}
	})
	return v
}

// outcomeNow returns what has become of a dependency on a job so far, and the verdict on that job if it is
// known.
func (c *controller) outcomeNow(kind scorev1.DependencyKind, on uint64) (outcome, *scorev1.Verdict) {
	switch j := c.jobs[on]; {
	case j == nil || j.state == done:
		v := c.verdictOf(on)
		return outcomeOf(kind, v), v
	case kind == after && j.started != 0:
		return met, nil
	}
	return pending, nil
}

// isForgotten reports whether it is not known any more how a job ended.
func (c *controller) isForgotten(id uint64) bool { return c.jobs[id] == nil && c.verdictOf(id) == nil }

// checkWithheld refuses dependencies on jobs that do not exist, and those of which the outcome is not known
// any more.
func (c *controller) checkWithheld(spec *scorev1.JobSpec) error {
	if !spec.GetHold() && len(spec.GetDependencies()) == 0 {
		return nil
	}
	for _, d := range spec.GetDependencies() {
		for _, on := range d.GetJobIds() {
			if on >= c.nextJob {
				return fmt.Errorf("%w: --dependency names job %d, and there is no such job; 'scored job list -a' shows all", ErrInvalid, on)
			}
			if d.GetKind() != after && d.GetKind() != afterAny && c.isForgotten(on) {
				return fmt.Errorf(
					"%w: --dependency names job %d, which ended so long ago that its exit code is not kept; leave it out, or use afterany",
					ErrInvalid,
					on,
				)
			}
		}
	}
	return c.requireProtocol(protocol.Holds)
}

// withhold holds a new job if its user wants that, and notes which of its dependencies are not satisfied.
func (c *controller) withhold(j *job) {
	if j.parents != 0 {
		return
	}
	if j.spec.GetHold() {
		j.hold = &scorev1.Hold{By: j.user.GetUser()}
	}
	j.unmet = kindsOf(j.spec)
	for _, on := range j.unmetJobs() {
		kind := j.unmet[on]
		switch is, v := c.outcomeNow(kind, on); is {
		case met:
			delete(j.unmet, on)
		case failed:
			c.doom(j, neverMet(j, kind, on, v))
		case pending:
		}
	}
	c.dependents.add(j)
}

// restoreWithheld restores what withholds a job.
func (j *job) restoreWithheld(record *state.Job) {
	j.hold = record.Hold
	j.unmet = kindsOf(j.spec)
	maps.DeleteFunc(j.unmet, func(on uint64, _ scorev1.DependencyKind) bool {
		_, unmet := slices.BinarySearch(record.Unmet, on)
		return !unmet
	})
}

// restoreDependents finds out which jobs wait for others. A dependency that was satisfied is not in the log
// any more, so one on a job that has ended never will be.
func (c *controller) restoreDependents(s *state.State) {
	for _, j := range c.sortedJobs() {
		c.dependents.add(j)
		for _, on := range j.unmetJobs() {
			if record := s.Job(on); record == nil {
				c.doom(j, neverMet(j, j.unmet[on], on, nil))
			} else if record.Phase == state.Done {
				c.doom(j, neverMet(j, j.unmet[on], on, record.Verdict))
			}
		}
	}
}

// startDependents satisfies the dependencies on the start of a job, and returns the jobs that have them.
func (c *controller) startDependents(j *job) (satisfied []*job) {
	for _, d := range c.dependents.of(j.id) {
		if d.unmet[j.id] == after {
			satisfied = append(satisfied, d)
			c.meet(d, j.id)
		}
	}
	return satisfied
}

// endDependents decides about the dependencies on the end of a job, which waits for nothing any more, and
// returns the jobs that have those that are satisfied.
func (c *controller) endDependents(j *job) (satisfied []*job) {
	for on := range j.unmet {
		c.dependents.remove(j, on)
	}
	j.hold, j.unmet = nil, nil
	for _, d := range c.dependents.of(j.id) {
		if kind := d.unmet[j.id]; outcomeOf(kind, j.verdict) == failed {
			c.doom(d, neverMet(d, kind, j.id, j.verdict))
			continue
		}
		satisfied = append(satisfied, d)
		c.meet(d, j.id)
	}
	return satisfied
}

func (c *controller) meet(j *job, on uint64) {
	delete(j.unmet, on)
	c.dependents.remove(j, on)
}

func numbersOf(jobs []*job) []uint64 {
	var ids []uint64
	for _, j := range jobs {
		ids = append(ids, j.id)
	}
	return ids
}

// doomed is a withheld job that cannot start any more, with the verdict that it will get.
type doomed struct {
	job     *job
	verdict *scorev1.Verdict
}

// doom ends a job later: a chain of jobs that wait for each other may be as long as the queue.
func (c *controller) doom(j *job, v *scorev1.Verdict) { c.doomed = append(c.doomed, doomed{j, v}) }

// endDoomed ends the jobs that cannot start any more, and those that wait for their success.
func (c *controller) endDoomed() {
	for i := 0; i < len(c.doomed); i++ {
		if d := c.doomed[i]; d.job.state == queued {
			c.becomeDone(d.job, d.verdict)
		}
	}
	c.doomed = nil
}

// neverMet returns the verdict of a job with a dependency that can never be satisfied; v is that on the other
// job, nil if it is not known any more.
func neverMet(j *job, kind scorev1.DependencyKind, on uint64, v *scorev1.Verdict) *scorev1.Verdict {
	how := "otherwise"
	if v != nil {
		how = fmt.Sprintf("with exit code %d", v.GetExitCode())
	}
	return verdict(cancelled, exitEnded, "job %d was not started: it waited for %s (--dependency), and that job ended %s", j.id, unmetWord(kind, on), how)
}

// unmetJobs returns the jobs that the job waits for, by number.
func (j *job) unmetJobs() []uint64 { return slices.Sorted(maps.Keys(j.unmet)) }

// unmetWords returns what the job waits for of which other jobs.
func (j *job) unmetWords() (words []string) {
	all := j.unmetJobs()
	for _, on := range all[:min(len(all), maxUnmetShown)] {
		words = append(words, unmetWord(j.unmet[on], on))
	}
	if more := len(all) - len(words); more > 0 {
		words = append(words, plural.Of(more, "more job", "more jobs"))
	}
	return words
}

// awaits says what a dependency of each kind waits for.
var awaits = map[scorev1.DependencyKind]string{
	after: "start", afterAny: "end", afterOK: "end with exit code 0", afterNotOK: "end with another exit code than 0",
}

func unmetWord(kind scorev1.DependencyKind, on uint64) string {
	return fmt.Sprintf("job %d to %s", on, awaits[kind])
}
