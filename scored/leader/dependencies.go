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

// dependents holds the jobs that wait for others: by the number of the job that they wait for, then
// by their own.
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

// outcomeOf returns what becomes of a dependency on a job that ends with the verdict. Only the exit
// code counts: the dependent job's user may be another one, and every user may see the code.
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

// verdictOf returns the verdict on a job that is done; nil if the job ended so long ago that the
// state no longer has it.
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

// outcomeNow returns what has become of a dependency on a job so far, and the job's verdict if it
// has one that is known.
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

// isForgotten reports whether a job ended so long ago that its verdict is no longer known.
func (c *controller) isForgotten(id uint64) bool { return c.jobs[id] == nil && c.verdictOf(id) == nil }

// checkWithheld refuses dependencies on jobs that do not exist, and dependencies on an exit code
// that is no longer known.
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

// withhold holds a new job if its user wants that, and records which of its dependencies are not
// satisfied. A spawned job is never withheld: it starts with the job that spawned it.
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

// restoreWithheld restores the hold and the unsatisfied dependencies of a job from the log.
func (j *job) restoreWithheld(record *state.Job) {
	j.hold = record.Hold
	j.unmet = kindsOf(j.spec)
	maps.DeleteFunc(j.unmet, func(on uint64, _ scorev1.DependencyKind) bool {
		_, unmet := slices.BinarySearch(record.Unmet, on)
		return !unmet
	})
}

// restoreDependents restores which jobs wait for others. The command that ends a job also satisfies
// the dependencies on its end. So a dependency that the log still has, on a job that has ended, can
// never be satisfied.
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

// startDependents satisfies all dependencies on the start of a job. It returns the jobs that had
// one.
func (c *controller) startDependents(j *job) (satisfied []*job) {
	for _, d := range c.dependents.of(j.id) {
		if d.unmet[j.id] == after {
			satisfied = append(satisfied, d)
			c.meet(d, j.id)
		}
	}
	return satisfied
}

// endDependents decides all dependencies on the end of a job. It returns the jobs whose dependency
// is satisfied, and dooms the others. The ended job itself no longer waits for anything.
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

// doomed is a withheld job that can never start, with the verdict that it will get.
type doomed struct {
	job     *job
	verdict *scorev1.Verdict
}

// doom makes endDoomed end a job. Ending it here would recurse, and a chain of jobs that wait for
// each other may be as long as the queue.
func (c *controller) doom(j *job, v *scorev1.Verdict) { c.doomed = append(c.doomed, doomed{j, v}) }

// endDoomed ends all doomed jobs, and those that their ends doom in turn.
func (c *controller) endDoomed() {
	for i := 0; i < len(c.doomed); i++ {
		if d := c.doomed[i]; d.job.state == queued {
			c.becomeDone(d.job, d.verdict)
		}
	}
	c.doomed = nil
}

// neverMet returns the verdict on a job with a dependency that can never be satisfied. v is the
// verdict on the other job; nil if it is no longer known.
func neverMet(j *job, kind scorev1.DependencyKind, on uint64, v *scorev1.Verdict) *scorev1.Verdict {
	how := "otherwise"
	if v != nil {
		how = fmt.Sprintf("with exit code %d", v.GetExitCode())
	}
	return verdict(cancelled, exitEnded, "job %d was not started: it waited for %s (--dependency), and that job ended %s", j.id, unmetWord(kind, on), how)
}

// unmetJobs returns the numbers of the jobs that the job waits for, ascending.
func (j *job) unmetJobs() []uint64 { return slices.Sorted(maps.Keys(j.unmet)) }

// unmetWords describes what the job waits for, a phrase for each of the other jobs: "job 7 to end".
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

// awaits describes what a dependency of each kind waits for.
var awaits = map[scorev1.DependencyKind]string{
	after: "start", afterAny: "end", afterOK: "end with exit code 0", afterNotOK: "end with another exit code than 0",
}

func unmetWord(kind scorev1.DependencyKind, on uint64) string {
	return fmt.Sprintf("job %d to %s", on, awaits[kind])
}
