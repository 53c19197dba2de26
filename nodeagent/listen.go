package nodeagent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"score/nodeagent/agentdir"
	"score/nodeagent/jobdirs"
	"score/nodeagent/mpidirs"
	"score/nodeagent/sockowner"
	"score/nodeagent/stewardpool"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/api/transport/socket"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

const (
	// listenTries is how often the agent tries to get a TCP and a UDP port of the same number. A
	// port that the kernel gives for TCP is rarely taken for UDP.
	listenTries = 16
	// listenTimeout is how long the address of a dead agent may stay taken: the kernel
	// closes the sockets of a process that was killed within milliseconds.
	listenTimeout = 3 * time.Second
	// listenPause is the time between two tries.
	listenPause = 10 * time.Millisecond
)

// abstractPrefix begins the name of the ranks' socket if the socket has no path.
const abstractPrefix = "@score-pm-"

// ranksSocket returns where ranks find the agent: a path that no other user can take while the
// agent restarts. The path is beside the run directory. If users cannot reach that, as in a
// development cluster of root, it is among the jobs' directories. If they can reach neither, the
// socket has an abstract name.
func (a *Agent) ranksSocket() string {
	for _, dir := range a.socketDirs() {
		path, err := filepath.Abs(filepath.Join(dir, jobdirs.RanksSocket))
		if err == nil && len(path)+len(".new") <= socket.MaxPath && (os.Geteuid() != 0 || jobdirs.OpenToAll(dir)) {
			return path
		}
	}
	return abstractPrefix + a.bootID
}

// hardwarePath returns where the description of the hardware is: beside the ranks' socket.
func (a *Agent) hardwarePath() string {
	if strings.HasPrefix(a.socket, abstractPrefix) {
		return filepath.Join(a.dirs.RanksDir(), mpidirs.Hardware)
	}
	return filepath.Join(filepath.Dir(a.socket), mpidirs.Hardware)
}

// socketDirs returns the directories where the ranks' socket may be, the best first.
func (a *Agent) socketDirs() []string { return []string{a.dirs.RanksDir(), a.options.JobsDir} }

// listen listens at the address of the agent that left the orphans: the other nodes of their jobs
// know that address, and their ranks know its socket. Without orphans it listens at the address
// that the last agent has noted. If that is taken, it listens at another one.
func (a *Agent) listen(orphans []*stewardpool.Orphan) (net.Listener, error) {
	a.socket = a.ranksSocket()
	former := agentdir.FormerAddress(a.options.RunDir, a.options.Listen)
	for _, o := range orphans {
		if name := o.Status.GetOrder().GetPmSocket(); strings.HasPrefix(name, abstractPrefix) {
			a.socket = name
		}
		if place := placeIn(o.Status.GetOrder().GetJob()); place.GetAddress() != "" && api.CheckLoopback(place.GetAddress()) == nil {
			former = place.GetAddress()
		}
	}
	if former == "" {
		return a.listenConfigured()
	}
	listener, err := a.listenRetrying(former)
	if err != nil {
		return a.listenFallback(former, err)
	}
	return listener, nil
}

// listenAdvice returns what to do after listening has failed.
func listenAdvice(err error) string {
	if errors.Is(err, unix.EMFILE) {
		return "raise the agent's hard limit (ulimit -Hn)"
	}
	return "choose another address with listen"
}

// placeIn returns the place that an order is for; nil if it names none.
func placeIn(order *agentpb.Prepare) *scorev1.NodePlace {
	if places := order.GetPlaces(); int64(order.GetNodeIndex()) < int64(len(places)) {
		return places[order.GetNodeIndex()]
	}
	return nil
}

// listenRetrying listens at an address, and waits up to listenTimeout while it is taken.
func (a *Agent) listenRetrying(address string) (net.Listener, error) {
	for limit := time.Now().Add(listenTimeout); ; time.Sleep(listenPause) {
		listener, err := a.listenAt(address)
		if !errors.Is(err, unix.EADDRINUSE) || time.Now().After(limit) {
			return listener, err
		}
	}
}

// listenFallback listens at another address after the former address, or the former name of the
// ranks' socket, was refused. Ranks that know only the former name do not find the agent again.
func (a *Agent) listenFallback(former string, why error) (net.Listener, error) {
	a.socket = a.ranksSocket()
	if listener, err := a.listenAt(former); err == nil {
		a.log.Warn("the agent cannot have its former socket for ranks", zap.Error(why))
		return listener, nil
	}
	a.log.Warn("the agent cannot have its former address", zap.String("address", former), zap.Error(why))
	if former == a.options.Listen {
		return a.listenOtherPort(why)
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
		return a.listenFreePort(host)
	}
	listener, err := a.listenRetrying(a.options.Listen)
	if err != nil {
		return a.listenOtherPort(err)
	}
	return listener, nil
}

// listenOtherPort listens at another port if another user has taken the port of the options while
// no agent ran. The leader and the other nodes then learn the new address.
func (a *Agent) listenOtherPort(why error) (net.Listener, error) {
	if !errors.Is(why, unix.EADDRINUSE) {
		return nil, why
	}
	stranger, ok := a.foreignListener(a.options.Listen)
	if !ok {
		return nil, why
	}
	host, _, err := net.SplitHostPort(a.options.Listen)
	if err != nil {
		return nil, err
	}
	listener, err := a.listenFreePort(host)
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

// foreignListener finds the user whose socket occupies the address. Root and the agent's own user
// do not count.
func (a *Agent) foreignListener(address string) (uid uint32, ok bool) {
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

// listenFreePort listens at a free TCP port, and opens the data plane at the UDP port of the same
// number, so that the agent's address is also the address of its directory.
func (a *Agent) listenFreePort(host string) (listener net.Listener, err error) {
	for range listenTries {
		listener, err = a.listenAt(net.JoinHostPort(host, "0"))
		if !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	return listener, err
}

// listenAt listens at the address for TCP and UDP.
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
