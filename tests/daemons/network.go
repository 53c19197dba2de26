package daemons

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Network gives daemons hosts of their own: network namespaces that a bridge in one more joins.
// Nothing of it is visible outside of them. What one host sends to another can be lost silently, as
// when a cable is cut.
type Network struct {
	prefix string
	hosts  map[string]int // by name; numbered from 1
}

// errNetwork is wrapped by the errors of the programs that make the network.
var errNetwork = errors.New("the network was not made")

const (
	// device is a host's end of its cable.
	device = "eth0"
	// nowhere is a hardware address that no host has: every host ignores what is sent to it.
	nowhere = "02:53:43:00:ff:ff"
	// switchName is the namespace with the bridge.
	switchName = "switch"
)

// networks numbers those of this process.
var networks atomic.Int64

// NewNetwork makes and joins hosts with these names. It needs root and the program ip.
func NewNetwork(names ...string) (*Network, error) {
	n := &Network{prefix: fmt.Sprintf("score-%d-%d-", os.Getpid(), networks.Add(1)), hosts: make(map[string]int)}
	hosts := []string{"netns add " + n.space(switchName)}
	bridge := []string{"link add name bridge type bridge", "link set bridge up"}
	for i, name := range names {
		n.hosts[name] = i + 1
		cable := fmt.Sprint("cable", i+1)
		hosts = append(hosts, "netns add "+n.space(name),
			fmt.Sprintf("link add name %s netns %s type veth peer name %s netns %s", cable, n.space(switchName), device, n.space(name)))
		bridge = append(bridge, "link set "+cable+" master bridge up")
	}
	err := errors.Join(ip("", hosts...), ip(n.space(switchName), bridge...))
	for _, name := range names {
		err = errors.Join(err, ip(n.space(name), "link set lo up", "link set "+device+" address "+n.hardware(name),
			"link set "+device+" up", "addr add "+n.Address(name)+"/24 dev "+device))
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// ip runs commands of the program ip in a namespace; "": in this process's.
func ip(space string, lines ...string) error {
	arguments := []string{"-batch", "-"}
	if space != "" {
		arguments = append([]string{"-n", space}, arguments...)
	}
	command := exec.Command("ip", arguments...)
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: ip: %w: %s", errNetwork, err, out)
	}
	return nil
}

func (n *Network) space(name string) string { return n.prefix + name }

func (n *Network) hardware(name string) string {
	return fmt.Sprintf("02:53:43:00:00:%02x", n.hosts[name])
}

// Address returns the IP address of a host.
func (n *Network) Address(name string) string { return fmt.Sprint("10.53.67.", n.hosts[name]) }

// on returns the command line that runs a program on a host.
func (n *Network) on(name string, line ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + n.space(name)}, line...)
}

// dial connects as if from a host.
func (n *Network) dial(ctx context.Context, name, address string) (conn net.Conn, err error) {
	return conn, n.Inside(name, func() error {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address) // makes the socket in this thread
		return err
	})
}

// Inside calls a function in a thread on a host: its sockets are the host's.
func (n *Network) Inside(name string, call func() error) error {
	runtime.LockOSThread()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer here.Close()
	there, err := os.Open("/run/netns/" + n.space(name))
	if err != nil {
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	err = call()
	if back := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back) // the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// Cut loses from now on what hosts in from send to hosts in to.
func (n *Network) Cut(from, to []string) error {
	return n.send(from, to, func(string) string { return nowhere })
}

// CutOff loses from now on what a host and the others send each other.
func (n *Network) CutOff(name string, others ...string) error {
	return errors.Join(n.Cut([]string{name}, others), n.Cut(others, []string{name}))
}

// Mend ends all cuts.
func (n *Network) Mend() error {
	all := slices.Sorted(maps.Keys(n.hosts))
	return n.send(all, all, n.hardware)
}

// Restore ends all cuts from and to a host.
func (n *Network) Restore(name string) error {
	others := n.Others(name)
	return errors.Join(n.send([]string{name}, others, n.hardware), n.send(others, []string{name}, n.hardware))
}

// Others returns all hosts but one.
func (n *Network) Others(name string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(n.hosts)), func(other string) bool { return other == name })
}

// send sets, for the hosts in from, the hardware addresses of the hosts in to.
func (n *Network) send(from, to []string, hardware func(string) string) error {
	var errs []error
	for _, host := range from {
		var lines []string
		for _, other := range to {
			if other != host {
				lines = append(lines, fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", n.Address(other), hardware(other), device))
			}
		}
		errs = append(errs, ip(n.space(host), lines...))
	}
	return errors.Join(errs...)
}

// Close removes the hosts. Nothing may run on them any more.
func (n *Network) Close() error {
	lines := []string{"netns delete " + n.space(switchName)}
	for name := range n.hosts {
		lines = append(lines, "netns delete "+n.space(name))
	}
	return ip("", lines...)
}
