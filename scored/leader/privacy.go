package leader

import "score/scored/api/scorev1"

// Caller is the user who calls, as identified by the kernel.
type Caller struct {
	UID uint32
	// Role is what the user may do beyond using their own jobs.
	Role scorev1.Role
}

// operates reports whether the caller may do with any job what its owner may.
func (c Caller) operates() bool { return c.Role >= scorev1.Role_ROLE_OPERATOR }

func (c Caller) controls(owner *scorev1.Identity) bool {
	return c.operates() || c.UID == owner.GetUid()
}

// Others see of a job what explains why the cluster is busy: its number, name, user, state and
// size, where it runs, how much it has used, and its exit code. Only its owner and operators see
// the program's inputs and outputs: command line, environment, directory and file names, the
// sentence of its end, its processes, its channels and its output.

// redactedFor returns the job as the caller may see it.
func redactedFor(job *scorev1.Job, caller Caller) *scorev1.Job {
	if job == nil || caller.controls(job.GetUser()) {
		return job
	}
	return &scorev1.Job{
		Id: job.GetId(), Spec: publicSpec(job.GetSpec()),
		User:  &scorev1.Identity{Uid: job.GetUser().GetUid(), User: job.GetUser().GetUser()},
		State: job.GetState(), SubmittedNanos: job.GetSubmittedNanos(), StartedNanos: job.GetStartedNanos(),
		EndedNanos: job.GetEndedNanos(), Row: job.GetRow(), AlsoRows: job.GetAlsoRows(), Places: job.GetPlaces(),
		Verdict: publicVerdict(job.GetVerdict()), Usage: job.GetUsage(), WaitingFor: job.GetWaitingFor(),
		ParentJob: job.GetParentJob(), Idle: publicIdleness(job.GetIdle()), Restarts: job.GetRestarts(),
		Hold: job.GetHold(),
	}
}

// publicIdleness returns that the job is idle, without what its ranks wait for.
func publicIdleness(i *scorev1.Idleness) *scorev1.Idleness {
	if i == nil {
		return nil
	}
	return &scorev1.Idleness{SinceNanos: i.GetSinceNanos(), DeadlockedNanos: i.GetDeadlockedNanos()}
}

// publicSpec returns the size of the request.
func publicSpec(spec *scorev1.JobSpec) *scorev1.JobSpec {
	return &scorev1.JobSpec{
		Name: spec.GetName(), Tasks: spec.GetTasks(), Nodes: spec.GetNodes(), CpusPerTask: spec.GetCpusPerTask(),
		MemoryPerNodeBytes: spec.GetMemoryPerNodeBytes(), Priority: spec.GetPriority(), Exclusive: spec.GetExclusive(),
		Oversubscribe: spec.GetOversubscribe(), TimeLimitNanos: spec.GetTimeLimitNanos(),
		Detached: spec.GetDetached(), NodeList: spec.GetNodeList(), ExcludeList: spec.GetExcludeList(),
		ChannelsPerTask: spec.GetChannelsPerTask(), Requeue: spec.GetRequeue(),
	}
}

func publicVerdict(v *scorev1.Verdict) *scorev1.Verdict {
	if v == nil {
		return nil
	}
	return &scorev1.Verdict{Reason: v.GetReason(), ExitCode: v.GetExitCode(), Rank: v.GetRank(), Node: v.GetNode()}
}
