package rpc

import (
	"fmt"
	"path"
	"score/gang"
	"score/scored/api"
	"score/scored/api/filename"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a submission.
const (
	// maxArguments bounds the number of arguments and environment variables; the kernel bounds only
	// bytes.
	maxArguments = 65536
	// maxString is the longest argument or variable that execve accepts (MAX_ARG_STRLEN), without
	// the closing NUL.
	maxString = 128<<10 - 1
	// maxProgramBytes bounds arguments and environment together: what execve accepts with the usual
	// stack limit (a quarter of 8 MiB).
	maxProgramBytes = 2 << 20
	// maxName bounds names and patterns, so that lists stay readable.
	maxName = 255
	// maxPath is the longest path that Linux accepts, without the NUL.
	maxPath = 4095
	// maxNodeList bounds a list of nodes.
	maxNodeList = 4096
	// maxTerminal is the largest number in a kernel's struct winsize.
	maxTerminal = 1<<16 - 1
	// maxUmask has all permission bits.
	maxUmask = 0o777
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", leader.ErrInvalid, fmt.Sprintf(format, args...))
}

// checkSpec refuses malformed submissions, before scheduling is considered.
func checkSpec(s *scorev1.JobSpec) error {
	if s == nil {
		return invalid("the submission holds no job")
	}
	for _, check := range []func(*scorev1.JobSpec) error{
		checkNumbers, checkProgram, checkNames, checkPatterns, checkTerminal, checkEnums, checkStaged, checkDependencies,
	} {
		if err := check(s); err != nil {
			return err
		}
	}
	return nil
}

func checkNumbers(s *scorev1.JobSpec) error {
	limit := time.Duration(s.GetTimeLimitNanos())
	switch {
	case s.GetTasks() == 0:
		return invalid("the job has no tasks; ask for at least one with -n")
	case s.GetTasks() > gang.MaxTasks:
		return invalid("%d tasks are more than the most there can be, %d", s.GetTasks(), gang.MaxTasks)
	case s.GetNodes() > s.GetTasks():
		return invalid("%d tasks cannot be spread over %d nodes; ask for fewer nodes or more tasks", s.GetTasks(), s.GetNodes())
	case s.GetCpusPerTask() > gang.MaxCPUsPerNode:
		return invalid("%d CPUs per task are more than any node has", s.GetCpusPerTask())
	case s.GetMemoryPerNodeBytes() > gang.MaxMemory:
		return invalid("%s of memory per node are more than the most there can be, %s",
			leader.AskedMemory(s.GetMemoryPerNodeBytes()), gang.FormatMemory(gang.MaxMemory))
	case s.GetChannelsPerTask() > gang.MaxChannelsPerRank:
		return invalid("%d channels per task are more than a rank can open, %d", s.GetChannelsPerTask(), gang.MaxChannelsPerRank)
	case s.GetPriority() < -gang.MaxPriority || s.GetPriority() > gang.MaxPriority:
		return invalid("the priority %d is not between %d and %d", s.GetPriority(), -gang.MaxPriority, gang.MaxPriority)
	case limit < 0:
		return invalid("the time limit %v is negative", limit)
	case limit > gang.MaxTimeLimit:
		return invalid("the time limit %v is longer than %v", limit, gang.MaxTimeLimit)
	case s.GetWarnSignal() < 0 || s.GetWarnSignal() > api.MaxSignal:
		return invalid("there is no signal %d", s.GetWarnSignal())
	case s.GetWarnSignal() == 0 && s.GetWarnNanos() != 0:
		return invalid("a time before the time limit needs a signal")
	case s.GetWarnSignal() != 0 && (s.GetWarnNanos() < 0 || s.GetWarnNanos() >= s.GetTimeLimitNanos()):
		return invalid("the signal %v before the end needs a longer time limit than %v", time.Duration(s.GetWarnNanos()), limit)
	case s.GetUmask() > maxUmask:
		return invalid("the umask %#o is more than %#o", s.GetUmask(), maxUmask)
	case len(s.GetLimits()) > api.ResourceLimits:
		return invalid("%d resource limits are more than the %d there are", len(s.GetLimits()), api.ResourceLimits)
	}
	return nil
}

func checkProgram(s *scorev1.JobSpec) error {
	if len(s.GetArgv()) == 0 || s.GetArgv()[0] == "" {
		return invalid("the job names no program")
	}
	if len(s.GetCommands()) > 0 {
		return invalid("a submission has one program; several are for what a program spawns")
	}
	if s.GetSearchPath() != "" {
		return invalid("a submission finds its program by PATH; other directories are for what a program spawns")
	}
	if n := len(s.GetArgv()) + len(s.GetEnv()); n > maxArguments {
		return invalid("%d arguments and environment variables are more than the %d a job takes; "+
			"pass a long list in a file or by standard input, and fewer variables with --export", n, maxArguments)
	}
	total := 0
	for _, texts := range [][]string{s.GetArgv(), s.GetEnv()} {
		for _, text := range texts {
			total += len(text) + 1
			switch {
			case strings.ContainsRune(text, 0):
				return invalid("an argument or environment variable holds a NUL: %q", clip(text))
			case len(text) > maxString:
				return invalid("an argument or environment variable is longer than the %d bytes the kernel takes; pass it in a file: %q", maxString, clip(text))
			}
		}
	}
	if total > maxProgramBytes {
		return invalid("arguments and environment take %d bytes, and the kernel takes at most %d; pass fewer variables with --export", total, maxProgramBytes)
	}
	for _, variable := range s.GetEnv() {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			return invalid("the environment variable %q is not NAME=VALUE", clip(variable))
		}
	}
	return nil
}

func checkNames(s *scorev1.JobSpec) error {
	if err := checkText("the job's name", s.GetName(), maxName); err != nil {
		return err
	}
	if err := checkPath("the working directory", s.GetWorkDir(), maxPath); err != nil {
		return err
	}
	if !path.IsAbs(s.GetWorkDir()) {
		return invalid("the working directory %q is not an absolute path", clip(s.GetWorkDir()))
	}
	for _, list := range [][]string{s.GetNodeList(), s.GetExcludeList()} {
		if err := checkNodeList(list); err != nil {
			return err
		}
	}
	return nil
}

func checkNodeList(list []string) error {
	if len(list) > maxNodeList {
		return invalid("the list names %d nodes, more than %d", len(list), maxNodeList)
	}
	for _, name := range list {
		if err := checkText("a node's name", name, maxName); err != nil {
			return err
		}
		if name == "" {
			return invalid("the list of nodes holds an empty name")
		}
	}
	return nil
}

func checkPatterns(s *scorev1.JobSpec) error {
	patterns := []struct{ what, pattern string }{
		{"the file name for standard output", s.GetStdoutPattern()},
		{"the file name for standard error", s.GetStderrPattern()},
		{"the file name for standard input", s.GetStdinPattern()},
	}
	for _, p := range patterns {
		if p.pattern == "" {
			continue
		}
		pattern, err := filename.Parse(p.pattern)
		if err == nil {
			err = pattern.Fits(s.GetName())
		}
		if err != nil {
			return invalid("%s, %q: %v", p.what, clip(p.pattern), err)
		}
	}
	if s.GetDetached() && s.GetStdoutPattern() == "" {
		return invalid("a detached job needs a file for its output; name one with -o")
	}
	return nil
}

// checkDependencies refuses dependencies that contradict each other, or are too many.
func checkDependencies(s *scorev1.JobSpec) error {
	named := make(map[uint64]bool)
	for _, d := range s.GetDependencies() {
		if _, ok := scorev1.DependencyKind_name[int32(d.GetKind())]; !ok || d.GetKind() == 0 || len(d.GetJobIds()) == 0 {
			return invalid("a dependency of kind %d on %d jobs is unknown", d.GetKind(), len(d.GetJobIds()))
		}
		for _, id := range d.GetJobIds() {
			switch {
			case id == 0:
				return invalid("--dependency names job 0, and jobs are numbered from 1")
			case named[id]:
				return invalid("--dependency names job %d twice; it can satisfy one dependency only", id)
			case len(named) == api.MaxDependencies:
				return invalid("--dependency names more than %d jobs; let a job in between wait for some of them", api.MaxDependencies)
			}
			named[id] = true
		}
	}
	return nil
}

// checkTerminal refuses a terminal together with redirected streams.
func checkTerminal(s *scorev1.JobSpec) error {
	t := s.GetTerminal()
	switch {
	case t == nil:
		return nil
	case t.GetRows() > maxTerminal || t.GetColumns() > maxTerminal:
		return invalid("a terminal of %d rows and %d columns is larger than there can be", t.GetRows(), t.GetColumns())
	case s.GetDetached() || s.GetStdinPattern() != "" || s.GetStdin() != scorev1.StdinMode_STDIN_MODE_RANK0:
		return invalid("a rank with a terminal has its input from there, and its output goes there: leave out --detach and --input")
	case s.GetRespawn() > 0:
		return invalid("a terminal ends with the rank that has it: leave out --respawn")
	}
	return nil
}

func checkEnums(s *scorev1.JobSpec) error {
	known := []struct {
		what  string
		value int32
		names map[int32]string
	}{
		{"stdin mode", int32(s.GetStdin()), scorev1.StdinMode_name},
		{"MPI mode", int32(s.GetMpi()), scorev1.MpiMode_name},
		{"exchange", int32(s.GetExchange()), scorev1.ExchangeMode_name},
		{"distribution", int32(s.GetDistribution()), scorev1.Distribution_name},
	}
	for _, k := range known {
		if _, ok := k.names[k.value]; !ok {
			return invalid("%s %d is unknown", k.what, k.value)
		}
	}
	return nil
}

// checkPath refuses names that no file can have. All other bytes are allowed: programs that display
// a path escape it.
func checkPath(what, path string, limit int) error {
	switch {
	case len(path) > limit:
		return invalid("%s is longer than %d bytes: %q", what, limit, clip(path))
	case strings.IndexByte(path, 0) >= 0:
		return invalid("%s holds a NUL: %q", what, clip(path))
	}
	return nil
}

// checkText refuses names and reasons that are not readable text.
func checkText(what, text string, limit int) error {
	switch {
	case len(text) > limit:
		return invalid("%s is longer than %d bytes: %q", what, limit, clip(text))
	case !utf8.ValidString(text):
		return invalid("%s is not UTF-8: %q", what, clip(text))
	case strings.ContainsFunc(text, unicode.IsControl):
		return invalid("%s holds control characters: %q", what, clip(text))
	}
	return nil
}

// clipLength is how much of a refused text an error shows: enough to recognize it.
const clipLength = 64

func clip(text string) string {
	if len(text) > clipLength {
		return text[:clipLength] + "..."
	}
	return text
}
