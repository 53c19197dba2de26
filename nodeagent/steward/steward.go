package steward

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"score/nodeagent/cgroup"
	"score/nodeagent/launch"
	"score/nodeagent/pmi/pmix"
	"score/nodeagent/privateipc"
	"score/nodeagent/privateshm"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/peer"
	"score/nodeagent/steward/stdiorelay"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of events of the steward's loop, and what their index is.
const (
	kindListener loop.Kind = iota + 1
	kindPeer               // number of the peer
	kindPMI                // local rank
	kindExit               // process
	kindPMIxListener
	kindPMIx // number of the connection
	kindPath
)

// steward is the state of the process: one loop that owns the control connection, PMI and the job's
// life, a relay with a loop of its own, and a thread that forks.
type steward struct {
	config   config
	loop     *loop.Loop
	clients  clients
	life     *life.Machine
	reaper   *launch.Reaper
	forker   *launch.Forker
	relay    *stdiorelay.Relay
	root     *cgroup.Root  // of the node, nil like group
	group    *cgroup.Group // nil: no control group, signals instead
	groupErr error         // why the group that was named cannot be used
	// shm is the /dev/shm of the jobs; nil: they have the host's. A goroutine that sweeps uses it.
	shm *privateshm.Memory
	// ipc is their IPC namespace, in the same way.
	ipc   *privateipc.Namespace
	stale bool // one of them could not be renewed

	listener int
	peers    map[int32]*peer.Peer // accepted; the control connection is one of them
	nextPeer int32
	control  *peer.Peer // nil: no agent
	flushAt  time.Time  // messages to the agent wait until then; zero: they go at once

	perJob
	spares    spares
	todo      []life.Order // being carried out
	examining bool         // a helper examines the processes

	helpers   sync.WaitGroup // goroutines that prepare, fork and kill
	pmiBuffer [pmiBuffer]byte
	left      bool
}

// perJob is what the loop keeps of one job; the next job begins with the zero value.
type perJob struct {
	job         *job
	servesPMIx  bool      // the job's endpoint is the loop's: preparation is over
	messages    *messages // nil: the job's ranks get no PMI, or it is being prepared
	after       []func()  // postponed by runLater
	outbox      outbox
	launchedAt  int64  // CLOCK_MONOTONIC of the first fork, in nanoseconds
	phases      phases // of the job's start
	kept        int    // bytes that came from the job's other nodes
	limitSetAt  int    // the value of kept for which the collector's limit was set
	unsentMost  int    // the most that ranks had not read when the limit was set, in bytes
	stopForking atomic.Bool
	// awaitsMessages is true while the ranks' processes are gone, but messages of their fences have
	// not arrived everywhere.
	awaitsMessages bool
	pending        uint64 // signals that came before the ranks, see bitOf
}

func newSteward(c config, listener int) (_ *steward, err error) {
	s := &steward{config: c, listener: listener, peers: make(map[int32]*peer.Peer)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.enterShm() // before anything looks at files
	s.life = life.New(s.now(), life.Config{Grace: c.grace})
	if s.loop, err = loop.New(); err != nil {
		return nil, err
	}
	s.clients.loop = s.loop
	s.reaper = launch.NewReaper(func(pidfd, pid int) error {
		return s.loop.Watch(pidfd, launch.WatchEvents, loop.Tag{Kind: kindExit, Index: int32(pid)})
	})
	if s.forker, err = launch.NewForker(s.reaper); err != nil {
		return nil, err
	}
	s.enterIPC()
	if s.relay, err = stdiorelay.New(s.stdioEvents()); err != nil {
		return nil, err
	}
	go s.relay.Run()
	if c.cgroups {
		s.root, s.group, s.groupErr = openGroup(c)
	}
	s.joinGroups()
	if err = unix.SetNonblock(listener, true); err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return s, s.loop.Watch(listener, unix.EPOLLIN, loop.Tag{Kind: kindListener})
}

// joinGroups moves the forking thread into the version 1 halves of the control group, which count
// the ranks. It does so before there is a job, because the kernel waits for all CPUs when a thread
// changes its group.
func (s *steward) joinGroups() {
	if s.group == nil {
		return
	}
	for _, dir := range s.group.ThreadDirs() {
		if s.groupErr = s.forker.Join(dir); s.groupErr != nil {
			s.group.Release()
			s.group = nil
			return
		}
	}
}

func openGroup(c config) (*cgroup.Root, *cgroup.Group, error) {
	root, err := cgroup.FindRoot(c.cluster, c.node)
	if err != nil {
		return nil, nil, err
	}
	group, err := root.Open(c.slot)
	return root, group, err
}

func (s *steward) stdioEvents() stdiorelay.Events {
	return stdiorelay.Events{
		Reader:  func(attached bool) { s.loop.Post(func() { s.life.Reader(s.now(), attached) }) },
		Drained: func() { s.loop.Post(func() { s.life.Drained(s.now()) }) },
		Lost:    func(text string) { s.loop.Post(func() { s.noteLoss(text) }) },
		Delayed: func(text string) { s.loop.Post(func() { s.note(text) }) },
	}
}

func (s *steward) now() time.Time { return time.Now() }

// run serves until the life of the job, or of its agent, is over.
func (s *steward) run() error {
	for !s.left {
		events, err := s.loop.Wait(earliest(s.life.Deadline(), s.flushAt, s.outbox.asks.next, s.deadlinePMIx(), s.messages.deadline()))
		if err != nil {
			return err
		}
		for i := range events {
			s.handle(loop.TagOf(&events[i]), events[i].Events)
			s.runAfter()
			s.applyLife()
		}
		s.tickPMIx()
		s.tickMessages()
		s.tickAsks()
		s.runAfter()
		s.life.Tick(s.now())
		s.applyLife()
		s.flush()
	}
	return nil
}

// earliest returns the first of the deadlines; the zero time never comes.
func earliest(deadlines ...time.Time) (first time.Time) {
	for _, d := range deadlines {
		if first.IsZero() || !d.IsZero() && d.Before(first) {
			first = d
		}
	}
	return first
}

func (s *steward) handle(t loop.Tag, events uint32) {
	switch t.Kind {
	case loop.Wake:
		s.loop.RunPosted()
	case kindListener:
		s.accept()
	case kindPeer:
		if p := s.peers[t.Index]; p != nil {
			s.servePeer(p, events)
		}
	case kindPMI:
		if s.job != nil {
			s.servePMI(int(t.Index), events)
		}
	case kindExit:
		s.onExit(int(t.Index))
	case kindPMIxListener:
		s.acceptPMIx()
	case kindPMIx:
		s.servePMIx(pmix.ConnID(t.Index), events)
	case kindPath:
		s.servePath()
	}
}

// close releases everything, each part before the parts that it uses. By now no rank lives, or the
// steward could not be set up.
func (s *steward) close() {
	if s.relay != nil {
		s.relay.Stop()
	}
	if s.loop != nil {
		s.loop.Close()
	}
	if s.forker != nil {
		s.forker.Close() // its thread leaves the memory group, which can then be removed
	}
	s.waitHelpers()
	if s.reaper != nil {
		s.reaper.Close()
	}
	for _, p := range s.peers {
		p.Close()
	}
	s.spares.close()
	s.closeGroup()
}

// help runs f in a goroutine of its own, and leaves it the loop's processor.
func (s *steward) help(f func()) {
	s.helpers.Go(f)
	s.loop.Yield()
}

// waitHelpers waits for the helper goroutines. One may be blocked by a file system that does not
// answer; the end of the process ends it.
func (s *steward) waitHelpers() {
	done := make(chan struct{})
	go func() {
		s.helpers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(helperWait):
	}
}

// helperWait is how long the steward waits for a blocked file system before it exits anyway.
const helperWait = 2 * time.Second

// closeGroup leaves the control group to the agent. Without an agent it removes the group, and the
// last steward the node's, since nobody else will for a while.
func (s *steward) closeGroup() {
	if s.group == nil {
		return
	}
	if s.control != nil {
		s.group.Release()
		return
	}
	err := s.group.Close(s.now().Add(groupCloseWait))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a leaving agent may have removed it first
		fmt.Fprintf(os.Stderr, "steward: %v\n", err)
	}
	s.group.Release()
	_ = s.root.Remove(s.now()) // fails while others have groups in it: the last of them removes it
}

// groupCloseWait is how long the kernel may take to release an empty group: longest after gigabytes
// of memory.
const groupCloseWait = 5 * time.Second
