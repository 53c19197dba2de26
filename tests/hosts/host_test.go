package hosts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"score/tests/daemons/daemonstest"
	"score/tests/guest"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// patience bounds every wait for what must come. Hosts share the CPUs of this machine.
	patience = 90 * time.Second
	// memory of a host, in MiB.
	memory = 320
	// packagesDir is where hosts see the packages, and an MPI program.
	packagesDir = "/mnt/packages"
	// poll is the interval at which a host is asked for a condition.
	poll = "0.2"
)

// binaries is the directory of scored and scrun, built from this tree.
var binaries string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &binaries)) }

// host is a host of the cluster.
type host struct {
	*guest.Guest
	t    *testing.T
	port *guest.Port
	name string
	ip   string
}

// site is where the hosts are.
type site struct {
	t      *testing.T
	image  string
	shared map[string]string
	wire   *guest.Switch
	hosts  []*host
	build  string // directory of the packages that a new host gets
	// packages makes those of this tree, once. Hosts boot meanwhile.
	packages func() error

	mu   sync.Mutex
	done map[string]bool // lines of the pages that were typed
}

func newSite(t *testing.T) *site {
	s := &site{t: t, image: needImage(t), wire: guest.NewSwitch(t), build: present, done: map[string]bool{}}
	dir := t.TempDir()
	if *all {
		s.build = before
		if err := earlierPackage(t.Context(), filepath.Join(dir, before)); err != nil {
			t.Fatal(err)
		}
	}
	s.shared = map[string]string{packagesDir: dir}
	s.packages = sync.OnceValue(func() error { return makePackage(t.Context(), dir) })
	return s
}

// add makes hosts and installs the package on them, all at the same time.
func (s *site) add(count int) {
	s.t.Helper()
	var work sync.WaitGroup
	work.Go(func() {
		if err := s.packages(); err != nil {
			s.t.Error(err)
		}
	})
	for range count {
		port, err := s.wire.Port()
		if err != nil {
			s.t.Fatal(err)
		}
		h := &host{t: s.t, port: port, ip: fmt.Sprintf("10.9.0.%d", len(s.hosts)+1), name: fmt.Sprintf("host%d", len(s.hosts)+1)}
		s.hosts = append(s.hosts, h)
		work.Go(func() { // a failure ends only this goroutine
			s.boot(h)
			if s.packages() == nil {
				s.install(h)
			}
		})
	}
	work.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// boot boots a new host, which knows the names of all that the site may have.
func (s *site) boot(h *host) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	h.Guest = guest.Start(ctx, s.t, guest.Options{
		Name: h.name, Memory: memory, Disk: s.image, Init: []string{"/sbin/init"},
		Ports: []*guest.Port{h.port}, Shared: s.shared, Modules: []string{"loop"},
	})
	h.awaitBooted()
	h.must(`hostname ` + h.Name + ` && hostname >/etc/hostname
for i in 1 2 3 4 5; do echo 10.9.0.$i host$i; done >>/etc/hosts
sed -i s/HERE/` + h.ip + `/ /etc/network/interfaces
systemctl restart networking`)
}

// awaitBooted waits until the service manager has nothing left to do.
func (h *host) awaitBooted() {
	h.t.Helper()
	h.await("systemctl is-system-running | grep -qE 'running|degraded'")
}

// must runs a command that must succeed, and returns its output without the last newline.
func (h *host) must(command string) string {
	h.t.Helper()
	out, ok := h.try(command)
	if !ok {
		h.t.Fatalf("%s: %s: %s\n%s", h.Name, command, out, h.report())
	}
	return out
}

// report returns what tells why something has failed on a host.
func (h *host) report() string {
	out, _ := h.try(`exec 2>&1
timeout 20 scored job list
for job in $(timeout 20 scored job list | awk '$1 ~ /^[0-9]+$/ {print $1}'); do timeout 20 scored job show $job; done
timeout 20 scored node list
timeout 20 scored server list
ps -eo pid,ppid,stat,wchan:20,args | grep -v '\[.*\]$'
journalctl --no-pager -n 60 -u score-server -u score-agent`)
	return out
}

// try runs a command, and reports whether it succeeded. If not, the output has its standard error.
func (h *host) try(command string) (string, bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	r, err := h.Run(ctx, command)
	if err != nil || r.Code != 0 {
		return fmt.Sprintf("%s%s(exit code %d, %v)", r.Stdout, r.Stderr, r.Code, err), false
	}
	return strings.TrimSpace(r.Stdout), true
}

// as returns a command of a user.
func as(user, command string) string {
	return "runuser -l " + user + " -c " + quote(command)
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// await waits until a shell command succeeds. The bound is the host's own, so that only its end is
// an event here.
func (h *host) await(command string) {
	h.t.Helper()
	// The uptime, since tests set the clock.
	script := fmt.Sprintf(`now() { read -r up _ </proc/uptime; echo ${up%%.*}; }
end=$(($(now) + %d))
until ( %s ) >/run/await 2>&1; do [ $(now) -lt $end ] || { cat /run/await; exit 1; }; sleep %s; done`,
		int(patience.Seconds())*2/3, command, poll)
	out, ok := h.try(script)
	if !ok {
		h.t.Fatalf("%s: not in time: %s: %s\n%s", h.Name, command, out, h.report())
	}
}
