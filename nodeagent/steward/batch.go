package steward

import (
	"fmt"
	"os"
	"score/nodeagent/launch"
	"score/nodeagent/steward/loop"
	"score/scored/api/environ"
	"score/scored/api/scorev1"

	"golang.org/x/sys/unix"
)

// startBatch is the number of ranks that are forked between two checks whether to stop: some
// milliseconds of work. Work that all ranks of a batch share is done once.
const startBatch = 16

// batch is a group of ranks that are forked together, with their descriptors.
type batch struct {
	low, count int // local ranks

	children [startBatch]childFDs
	opened   int // of children
	// The steward's ends, for the loops to take.
	ports   []int // PMI, one per rank; none without PMI
	outputs []int // one per stream, in the order of the job's outputs
	sinks   []int // of the ranks that get input
}

// childFDs holds the ends that a rank inherits; -1: none.
type childFDs struct {
	stdin, stdout, stderr, pmi int
}

// open makes the descriptors. After an error all are closed.
func (b *batch) open(j *job) error {
	for i := range b.count {
		c := &b.children[i]
		*c = childFDs{-1, -1, -1, -1}
		b.opened++
		err := b.openStreams(j, b.low+i, c)
		if err == nil && j.pmi != nil {
			err = b.openPMI(c)
		}
		if err != nil {
			b.closeOwn()
			return fmt.Errorf("rank %d: %w: %w", j.ranks[b.low+i].rank, errFiles, err)
		}
	}
	return nil
}

func (b *batch) openStreams(j *job, k int, c *childFDs) error {
	if j.hasTerminal(j.ranks[k].rank) {
		return b.openTerminal(j, c)
	}
	if err := b.openInput(j, k, c); err != nil {
		return err
	}
	return b.openOutputs(j, c)
}

// openInput gives a rank its file, a pipe, or nothing to read.
func (b *batch) openInput(j *job, k int, c *childFDs) (err error) {
	r := &j.ranks[k]
	if r.stdin >= 0 {
		c.stdin, r.stdin = r.stdin, -1
		return nil
	}
	if !j.getsInput(r.rank) {
		c.stdin, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	}
	var sink int
	if c.stdin, sink, err = pipe(); err != nil {
		return err
	}
	b.sinks = append(b.sinks, sink)
	return notBlocking(sink)
}

// getsInput reports whether the user's input goes to a rank.
func (j *job) getsInput(rank uint32) bool {
	if j.spec.GetDetached() {
		return false
	}
	switch j.spec.GetStdin() {
	case scorev1.StdinMode_STDIN_MODE_ALL:
		return true
	case scorev1.StdinMode_STDIN_MODE_NONE:
		return false
	case scorev1.StdinMode_STDIN_MODE_UNSPECIFIED, scorev1.StdinMode_STDIN_MODE_RANK0:
	}
	return rank == 0
}

func (b *batch) openOutputs(j *job, c *childFDs) (err error) {
	if c.stdout, err = b.outputPipe(); err != nil {
		return err
	}
	if j.streams() == 1 {
		c.stderr = c.stdout
		return nil
	}
	c.stderr, err = b.outputPipe()
	return err
}

// outputPipe makes a pipe and returns the end for the rank.
func (b *batch) outputPipe() (child int, err error) {
	read, write, err := pipe()
	if err != nil {
		return -1, err
	}
	b.outputs = append(b.outputs, read)
	return write, notBlocking(read)
}

// notBlocking makes the steward's end of a new pipe or socket nonblocking; the rank's end must
// block. A new descriptor has no other flags to keep, so this is one call, where reading the flags
// first would take two.
func notBlocking(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK)
	return err
}

func pipe() (read, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	return fds[0], fds[1], nil
}

func (b *batch) openPMI(c *childFDs) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	b.ports, c.pmi = append(b.ports, pair[0]), pair[1]
	return notBlocking(pair[0])
}

// launchRanks returns the batch's ranks in the form of package launch.
func (b *batch) launchRanks(j *job) []launch.Rank {
	ranks := make([]launch.Rank, b.count)
	for i := range ranks {
		ranks[i] = j.launchRank(b.low+i, &b.children[i])
	}
	return ranks
}

func (j *job) launchRank(k int, c *childFDs) launch.Rank {
	umask := j.spec.GetUmask()
	command := &j.commands[j.app(j.ranks[k].rank)]
	rank := launch.Rank{
		ID:       k,
		Path:     command.path,
		Argv:     command.argv,
		Env:      environ.Override(j.rankEnv(k), command.env),
		Dir:      command.dir,
		Stdin:    c.stdin,
		Stdout:   c.stdout,
		Stderr:   c.stderr,
		CPUs:     j.cpus(k),
		Sharers:  j.sharers(),
		User:     j.user,
		CgroupFD: j.container.FD(),
		Limits:   j.limits,
		Umask:    &umask,
		Terminal: j.hasTerminal(j.ranks[k].rank),
	}
	if c.pmi >= 0 {
		rank.Extra = []launch.FD{{File: c.pmi, Target: pmiTarget}}
	}
	return rank
}

// closeChildren closes this process's copies of what the ranks have inherited,
// so that the death of a rank ends its streams.
func (b *batch) closeChildren() {
	for i := range b.opened {
		c := &b.children[i]
		loop.CloseFD(c.stdin)
		if c.stdout != c.stdin {
			loop.CloseFD(c.stdout)
		}
		if c.stderr != c.stdout {
			loop.CloseFD(c.stderr)
		}
		loop.CloseFD(c.pmi)
	}
	b.opened = 0
}

// closeOwn closes the steward's ends of a batch that cannot be started.
func (b *batch) closeOwn() {
	for _, fds := range [...][]int{b.ports, b.outputs, b.sinks} {
		for _, fd := range fds {
			loop.CloseFD(fd)
		}
	}
}
