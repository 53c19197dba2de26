package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes of scrun that are not a program's, as in other launchers and shells.
const (
	exitCluster = 125 // a fault of the cluster
	// exitSignal is added to the number of the signal that ended the program.
	exitSignal = 128
	// exitDeadlock is the code that timeout(1) uses for a program that it ends.
	exitDeadlock = 124
	exitKilled   = exitSignal + int32(unix.SIGKILL)
	exitMemory   = exitKilled
	exitEnded    = exitSignal + int32(unix.SIGTERM)
	// noRank in a verdict: no rank decided it.
	noRank = -1
)

type reason = scorev1.EndReason

const (
	exited      = scorev1.EndReason_END_REASON_EXITED
	rankFailed  = scorev1.EndReason_END_REASON_RANK_FAILED
	aborted     = scorev1.EndReason_END_REASON_ABORTED
	cancelled   = scorev1.EndReason_END_REASON_CANCELLED
	timeLimit   = scorev1.EndReason_END_REASON_TIME_LIMIT
	memoryLimit = scorev1.EndReason_END_REASON_MEMORY_LIMIT
	cannotStart = scorev1.EndReason_END_REASON_CANNOT_START
	nodeLost    = scorev1.EndReason_END_REASON_NODE_LOST
	cluster     = scorev1.EndReason_END_REASON_CLUSTER
	deadlock    = scorev1.EndReason_END_REASON_DEADLOCK
)

// verdict returns a verdict that no rank decided.
func verdict(why reason, code int32, format string, args ...any) *scorev1.Verdict {
	return &scorev1.Verdict{Reason: why, ExitCode: code, Message: fmt.Sprintf(format, args...), Rank: noRank}
}

// failure returns the verdict with which one rank's exit ends its gang, or nil if the others may go
// on.
func failure(exit *agentpb.RankExited, node string, spec *scorev1.JobSpec, limit int64) *scorev1.Verdict {
	if exit.GetByUs() || exit.GetSurvived() {
		return nil
	}
	who := fmt.Sprintf("rank %d on node %s", exit.GetRank(), node)
	v := &scorev1.Verdict{Reason: rankFailed, Rank: int32(exit.GetRank()), Node: node}
	switch {
	case exit.GetOutOfMemory():
		v.Reason, v.ExitCode = memoryLimit, exitMemory
		v.Message = fmt.Sprintf("%s exceeded the job's memory limit there%s; request more with --mem", who, limitNote(limit))
	case exit.GetSignal() != 0:
		v.ExitCode = exitSignal + exit.GetSignal()
		v.Message = fmt.Sprintf("%s was killed by signal %s%s; the job was ended", who, signalText(exit.GetSignal()), coreNote(exit))
	case exit.GetBeforeFinalize():
		v.ExitCode = max(exit.GetExitCode(), 1)
		v.Message = fmt.Sprintf("%s exited with code %d without calling MPI_Finalize; the job was ended", who, exit.GetExitCode())
	case exit.GetExitCode() != 0 && spec.GetKillOnBadExit():
		v.ExitCode = exit.GetExitCode()
		v.Message = fmt.Sprintf("%s left with exit code %d; the job was ended since it was submitted with --kill-on-bad-exit", who, exit.GetExitCode())
	default:
		return nil
	}
	return v
}

func limitNote(limit int64) string {
	if limit == 0 {
		return ""
	}
	return " (" + gang.FormatMemory(limit) + ")"
}

func coreNote(exit *agentpb.RankExited) string {
	if exit.GetCoreDumped() {
		return ", core dumped"
	}
	return ""
}

// signalText returns "11 (SIGSEGV)".
func signalText(signal int32) string {
	if name := unix.SignalName(unix.Signal(signal)); name != "" {
		return fmt.Sprintf("%d (%s)", signal, name)
	}
	return fmt.Sprint(signal)
}

// abortVerdict returns the verdict for an abort: by a rank; before any rank of the node was
// launched, for a failed launch; without a rank, for a fault of the node.
func abortVerdict(abort *agentpb.Abort, node string, launched bool) *scorev1.Verdict {
	code := abort.GetExitCode()
	v := &scorev1.Verdict{Reason: aborted, Rank: abort.GetRank(), Node: node}
	if abort.GetRank() < 0 {
		v.Reason, v.ExitCode, v.Message = cluster, exitCluster, abort.GetMessage()
		return v
	}
	if !launched && code >= exitCluster && code <= 127 && abort.GetMessage() != "" {
		v.Reason, v.ExitCode, v.Message = cannotStart, code, abort.GetMessage()
		return v
	}
	v.ExitCode = exitByte(code)
	v.Message = fmt.Sprintf("rank %d on node %s aborted the job with code %d", abort.GetRank(), node, code)
	if text := abort.GetMessage(); text != "" {
		v.Message += ": " + text
	}
	return v
}

// exitByte reduces a code to the exit status of a process, without turning a failure into a
// success.
func exitByte(code int32) int32 {
	if low := code & 0xff; low != 0 || code == 0 {
		return low
	}
	return 1
}

func timeVerdict(spec *scorev1.JobSpec) *scorev1.Verdict {
	return verdict(timeLimit, exitEnded, "the job reached its time limit of %v; request more with --time", time.Duration(spec.GetTimeLimitNanos()))
}
