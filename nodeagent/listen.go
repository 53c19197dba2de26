package nodeagent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"score/nodeagent/agentdir"
	"score/nodeagent/jobdirs"
	"score/nodeagent/sockowner"
	"score/nodeagent/stewardpool"
	"score/scored/api/scorev1"
	"score/scored/api/transport/socket"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

const (
	// listenTries is how often a pair of free ports is looked for: a port that the kernel gives
	// for TCP is rarely taken for UDP.
	listenTries = 16
	// listenTimeout is how long the address of a dead agent may stay taken: the kernel
	// closes the sockets of a process that was killed within milliseconds.
	listenTimeout = 3 * time.Second
	// listenPause is the time between two looks.
	listenPause = 10 * time.Millisecond
)

const (
	// abstractPrefix begins the name of the ranks' socket where they cannot reach that place.
	abstractPrefix = "@score-pm-"
)

// ranksSocket is where ranks find the agent: a path that no other user can take while the agent is
// restarted. It is beside the run directory or, where users cannot pass to that, as in a
// development cluster of root's, among the jobs' directories. Where neither will do, it is an
// abstract name.
func (a *Agent) ranksSocket() string {
	for _, dir := range a.socketDirs() {
		path, err := filepath.Abs(filepath.Join(dir, jobdirs.RanksSocket))
		if err == nil && len(path)+len(".new") <= socket.MaxPath && (os.Geteuid() != 0 || jobdirs.OpenToAll(dir)) {
			return path
		}
	}
	return abstractPrefix + a.bootID
}

// socketDirs are where the ranks' socket may be, the best first.
func (a *Agent) socketDirs() []string { return []string{a.dirs.RanksDir(), a.options.JobsDir} }

// listenAs listens where the agent was that has left the orphans, since the other nodes of their
// jobs know it there, and their ranks know its socket. Without any, it is where the agent before it
// noted that it was; where that address cannot be had, it listens elsewhere.
func (a *Agent) listenAs(orphans []*stewardpool.Orphan) (net.Listener, error) {
	a.socket = a.ranksSocket()
	former := agentdir.FormerAddress(a.options.RunDir, a.options.Listen)
	for _, o := range orphans {
		if name := o.Status.GetOrder().GetPmSocket(); strings.HasPrefix(name, abstractPrefix) {
			a.socket = name
		}
		if place := placeIn(o.Status.GetOrder().GetJob()); place.GetAddress() != "" && CheckLoopback("address", place.GetAddress()) == nil {
			former = place.GetAddress()
		}
	}
	if former == "" {
		return a.listenConfigured()
	}
	listener, err := a.listenPatiently(former)
	if err != nil {
		return a.listenElse(former, err)
	}
	return listener, nil
}

// placeIn is the part of a job that an order is for; nil if it names none.
func placeIn(order *scorev1.Prepare) *scorev1.NodePlace {
	if places := order.GetPlaces(); int64(order.GetNodeIndex()) < int64(len(places)) {
		return places[order.GetNodeIndex()]
	}
	return nil
}

// listenPatiently waits for an address that is taken.
func (a *Agent) listenPatiently(address string) (net.Listener, error) {
	for limit := time.Now().Add(listenTimeout); ; time.Sleep(listenPause) {
		listener, err := a.listenAt(address)
		if !errors.Is(err, unix.EADDRINUSE) || time.Now().After(limit) {
			return listener, err
		}
	}
}

// listenElse listens where it can. An abstract name of a socket that was known to ranks may be
// taken by somebody; then no rank finds the agent there.
func (a *Agent) listenElse(former string, why error) (net.Listener, error) {
	a.socket = a.ranksSocket()
	if listener, err := a.listenAt(former); err == nil {
		a.log.Warn("the agent cannot have its former socket for ranks", zap.Error(why))
		return listener, nil
	}
	a.log.Warn("the agent cannot have its former address", zap.String("address", former), zap.Error(why))
	if former == a.options.Listen {
		return a.listenAside(why)
	}
	return a.listenConfigured()
}

// listenConfigured listens where the options say.
func (a *Agent) listenConfigured() (net.Listener, error) {
	host, port, err := net.SplitHostPort(a.options.Listen)
	if err != nil {
		return nil, err
	}
	if port == "0" {
		return a.listenAnywhere(host)
	}
	listener, err := a.listenPatiently(a.options.Listen)
	if err != nil {
		return a.listenAside(err)
	}
	return listener, nil
}

// listenAside listens at another port than the options say if another user has taken that one, for
// which the agent was away long enough. The leader and the other nodes are told where.
func (a *Agent) listenAside(why error) (net.Listener, error) {
	if !errors.Is(why, unix.EADDRINUSE) {
		return nil, why
	}
	stranger, ok := a.strangerAt(a.options.Listen)
	if !ok {
		return nil, why
	}
	host, _, err := net.SplitHostPort(a.options.Listen)
	if err != nil {
		return nil, err
	}
	listener, err := a.listenAnywhere(host)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf(
		"user %d has taken the node's port, agent.listen = %q, while no agent ran; the node is reached at %s until the agent is started again: end that process, or choose a port below 1024",
		stranger,
		a.options.Listen,
		listener.Addr(),
	)
	a.log.Warn(note)
	a.notes = append(a.notes, note)
	return listener, nil
}

// strangerAt finds the user, other than root and the agent's own, of a socket that keeps the agent
// from an address.
func (a *Agent) strangerAt(address string) (uid uint32, ok bool) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return 0, false
	}
	for _, uid := range sockowner.ListenersAt(at.AddrPort().Port()) {
		if uid != 0 && uid != uint32(os.Geteuid()) {
			return uid, true
		}
	}
	return 0, false
}

// listenAnywhere listens at a free port by TCP, and opens the data plane at the UDP port of the
// same number: who knows the agent's address knows its directory's.
func (a *Agent) listenAnywhere(host string) (listener net.Listener, err error) {
	for range listenTries {
		listener, err = a.listenAt(net.JoinHostPort(host, "0"))
		if !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	return listener, err
}

// listenAt listens by TCP and UDP.
func (a *Agent) listenAt(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := a.openPlane(listener.Addr()); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}
