package steward

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api"
	"score/scored/api/agentpb"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// listenerFD is where the agent leaves the listening socket.
	listenerFD = 3
	// processors is the number of Go processors: one for each loop, which keeps it while it waits
	// for the next event (lingerMillis), and one for the goroutines that fork, reap and sweep. With
	// two, half of the ends of jobs were reported a millisecond late.
	processors = 3
)

// Exit statuses of the steward itself.
const (
	exitFault = 1
	exitUsage = 2
)

// config is the steward's command line.
type config struct {
	slot    int
	cluster string
	node    string
	cgroups bool
	// privateShm is set if the process has a mount namespace of its own, for a /dev/shm of its
	// jobs.
	privateShm bool
	// privateIPC gives its jobs an IPC namespace of their own. It needs privateShm.
	privateIPC bool
	grace      time.Duration
}

// Main runs the whole steward process and returns its exit status. args are the arguments after
// "steward". Descriptor 3 must be a listening Unix socket, which package client makes.
func Main(args []string) int {
	c, err := parse(args)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "steward: %v\n", err)
		}
		return exitUsage
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	runtime.GOMAXPROCS(processors)
	// An error's text is lost if nobody reads it; it must not end the steward before it has cleaned
	// up.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	unix.Umask(0) // files are opened with the user's own mask
	realtime.Prefault()
	_ = realtime.CalmMonitor(realtime.MonitorSlack) // where not permitted, the steward takes a little more of the ranks' time
	api.Warm(agentpb.File_score_v1_agent_proto, stewardpb.File_steward_proto)
	s, err := newSteward(c, listenerFD)
	if err == nil {
		err = s.run()
		removeSocket(listenerFD) // first: a client that sees its connection end may use the name again
		s.close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "steward: %v\n", err)
		return exitFault
	}
	return 0
}

func parse(args []string) (config, error) {
	var c config
	flags := flag.NewFlagSet("steward", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&c.slot, "slot", 0, "the slot's number")
	flags.StringVar(&c.cluster, "cluster", "", "the cluster's name")
	flags.StringVar(&c.node, "node", "", "the node's name")
	flags.BoolVar(&c.cgroups, "cgroups", false, "use the slot's control group")
	flags.BoolVar(&c.privateShm, "private-shm", false, "give jobs a /dev/shm of their own")
	flags.BoolVar(&c.privateIPC, "private-ipc", false, "give jobs an IPC namespace of their own")
	flags.DurationVar(&c.grace, "agent-grace", 0, "how long a job goes on without an agent")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if c.grace < 0 {
		return c, fmt.Errorf("--agent-grace %v is negative", c.grace)
	}
	return c, checkListener(listenerFD)
}

func checkListener(fd int) error {
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listening == 0 {
		return fmt.Errorf("descriptor %d is not a listening socket; stewards are started by the agent", fd)
	}
	unix.CloseOnExec(fd) // the ranks must not have it
	return nil
}

// removeSocket removes the socket's name, so that nobody connects to a socket without a server.
func removeSocket(fd int) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return
	}
	if address, ok := name.(*unix.SockaddrUnix); ok && address.Name != "" && address.Name[0] != '@' {
		_ = unix.Unlink(address.Name) // the agent may have been quicker
	}
	loop.CloseFD(fd)
}
