package steward

import (
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"score/scored/api/environ"
	"score/scored/api/scorev1"
	"slices"
)

// command is one of the programs of a job.
type command struct {
	end  int // of its ranks; they begin at the previous command's end
	argv []string
	env  []string // in place of or besides the job's
	dir  string
	// search lists directories in which the program is looked for before those of PATH, in the same
	// format.
	search string
	path   string // of the program, as launch.Resolve found it; "": no rank here runs it
}

// newCommands lists a job's commands, at least one. dir is the directory of those that name none.
func newCommands(spec *scorev1.JobSpec, dir string, size int) []command {
	if len(spec.GetCommands()) == 0 {
		return []command{{end: size, argv: spec.GetArgv(), dir: dir, search: spec.GetSearchPath()}}
	}
	commands := make([]command, len(spec.GetCommands()))
	end := 0
	for i, c := range spec.GetCommands() {
		end += int(c.GetTasks())
		commands[i] = command{end: end, argv: c.GetArgv(), dir: c.GetWorkDir(), search: c.GetSearchPath()}
		if commands[i].dir == "" {
			commands[i].dir = dir
		}
		for _, v := range c.GetEnv() {
			if keepsVariable(v) {
				commands[i].env = append(commands[i].env, v)
			}
		}
	}
	return commands
}

// checkCommands returns what is wrong with the commands of an order.
func (j *job) checkCommands() error {
	for i := range j.commands {
		if c := &j.commands[i]; len(c.argv) == 0 {
			return fmt.Errorf("%w: no program", errOrder)
		}
	}
	end := j.commands[len(j.commands)-1].end
	if end != j.size() {
		return fmt.Errorf("%w: commands for %d ranks of %d", errOrder, end, j.size())
	}
	for k := range j.ranks {
		if rank := j.ranks[k].rank; int64(rank) >= int64(end) {
			return fmt.Errorf("%w: rank %d is placed beyond the last", errOrder, rank)
		}
	}
	return nil
}

// jobDirVariable names the job's own directory.
const jobDirVariable = "SCORE_JOB_DIR"

// chooseDirectory takes the job's own directory if the user cannot enter the working directory
// here, and files that go along with the job make up for that. The steward looks and not the agent,
// because the directory may be on a file system that never answers: nobody can end a process that
// waits for it, and while an agent does not end, no other can take its place.
func (j *job) chooseDirectory() {
	if !j.spec.GetAnyDirectory() || len(j.spec.GetStaged()) == 0 || canEnter(j.user, j.dir) {
		return
	}
	j.dir = j.variable(jobDirVariable)
	j.commands = newCommands(j.spec, j.dir, j.size())
}

// canEnter reports whether the user may enter the directory on this node.
func canEnter(user *launch.User, dir string) bool {
	return launch.AsUser(user, func() error {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = os.ErrNotExist
		}
		return err
	}) == nil
}

// app returns the number of the command that a rank runs.
func (j *job) app(rank uint32) int {
	i, _ := slices.BinarySearchFunc(j.commands, int(rank), func(c command, rank int) int {
		if rank < c.end {
			return 1
		}
		return -1
	})
	return i
}

// resolve finds the programs that the ranks here run.
func (j *job) resolve() error {
	for k := range j.ranks {
		c := &j.commands[j.app(j.ranks[k].rank)]
		if c.path != "" {
			continue
		}
		var err error
		if c.path, err = launch.Resolve(j.stagedPath(c.argv[0]), c.dir, j.searchPath(c), j.user); err != nil {
			return err
		}
	}
	j.program = j.commands[j.app(j.ranks[0].rank)].path
	return nil
}

// searchPath lists the directories in which a program without a slash in its name is looked for.
// For spawned programs the last is the working directory, as with mpirun.
func (j *job) searchPath(c *command) string {
	path := environ.Value(environ.Override(j.spec.GetEnv(), c.env), "PATH")
	if path == "" {
		path = launch.DefaultPath
	}
	if c.search != "" {
		path = c.search + ":" + path
	}
	if j.order.GetJob().GetParentJob() != 0 {
		path += ":."
	}
	return path
}

// stagedPath returns the path of a staged program's copy, and the path of any other program
// unchanged.
func (j *job) stagedPath(program string) string {
	for _, f := range j.spec.GetStaged() {
		if f.GetKind() == scorev1.StagedKind_STAGED_KIND_PROGRAM && f.GetName() == filepath.Base(program) && j.order.GetPrograms() != "" {
			return filepath.Join(j.order.GetPrograms(), f.GetName())
		}
	}
	return program
}

// rankApps returns the command number of each rank; nil: all run the same command.
func (j *job) rankApps() []int32 {
	if len(j.commands) == 1 {
		return nil
	}
	apps := make([]int32, j.size())
	for rank := range apps {
		apps[rank] = int32(j.app(uint32(rank)))
	}
	return apps
}
