package guest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/guest/wire"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// defaultMemory, in MiB, is enough for a handful of programs.
	defaultMemory = 256
	// bootTime bounds the time until the agent serves. It is two seconds on an idle machine.
	bootTime = 2 * time.Minute
)

// Errors of guests.
var (
	ErrDead = errors.New("guest is not running")
	ErrBoot = errors.New("guest did not come up")
)

// Options say what a guest is like. The zero value is a guest with this machine's root.
type Options struct {
	Name        string // its host name; "guest"
	Memory      int    // MiB
	Disk        string // an image of an ext4 file system: the guest's root, which it does not change
	Init        []string
	Modules     []string          // loaded at boot
	Ports       []*Port           // its network devices vec0, vec1, ...
	Shared      map[string]string // directories of this machine, read-only, by where the guest sees them
	ClockOffset time.Duration     // how far its clock is ahead at each boot
}

// Guest is a Linux guest, which a test that ends kills.
type Guest struct {
	Options
	dir    string
	kernel kernel

	mu  sync.Mutex
	run *running // nil while it is off
}

// Start boots a guest and returns when it runs commands. The test is skipped where no guests can be
// had, and fails if this one does not come up.
func Start(ctx context.Context, t testing.TB, options Options) *Guest {
	t.Helper()
	k, err := findKernel(ctx)
	require(t, err)
	if options.Name == "" {
		options.Name = "guest"
	}
	if options.Memory == 0 {
		options.Memory = defaultMemory
	}
	dir, err := os.MkdirTemp("", "guest-") // its sockets' paths must be short
	if err != nil {
		t.Fatal(err)
	}
	g := &Guest{Options: options, dir: dir, kernel: k}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("console of %s:\n%s", g.Name, g.Console())
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := g.Boot(ctx); err != nil {
		t.Fatal(err)
	}
	return g
}

// Boot starts a guest that is off.
func (g *Guest) Boot(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	r, err := g.start()
	if err != nil {
		return err
	}
	if err := r.awaitUp(ctx); err != nil {
		return errors.Join(fmt.Errorf("%s: %w: %w", g.Name, ErrBoot, err), r.kill())
	}
	g.run = r
	return nil
}

// Kill ends the guest as a power cut does. What it has written to its disk stays.
func (g *Guest) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run == nil {
		return nil
	}
	err := g.run.kill()
	g.run = nil
	return err
}

// Reboot stops the guest in good order, and boots it again.
func (g *Guest) Reboot(ctx context.Context) error {
	if err := g.PowerOff(ctx); err != nil {
		return err
	}
	return g.Boot(ctx)
}

// PowerOff stops the guest in good order.
func (g *Guest) PowerOff(ctx context.Context) error {
	r, err := g.current()
	if err != nil {
		return err
	}
	if err := g.stop(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return g.Kill()
	case <-ctx.Done():
		return fmt.Errorf("power %s off: %w", g.Name, ctx.Err())
	}
}

// stop has the guest's init stop it, or the agent, where that is the first program.
func (g *Guest) stop(ctx context.Context, r *running) error {
	if len(g.Init) == 0 {
		return r.conn.Send(wire.Frame{Kind: wire.PowerOff})
	}
	// The end of the guest may come before the command's.
	if _, err := g.Run(ctx, "systemctl poweroff"); err != nil && !errors.Is(err, ErrDead) {
		return err
	}
	return nil
}

// Close kills the guest and removes what it has left.
func (g *Guest) Close() error {
	return errors.Join(g.Kill(), os.RemoveAll(g.dir))
}

// Console returns what the guest's kernel and init have written since the first boot.
func (g *Guest) Console() string {
	data, _ := os.ReadFile(filepath.Join(g.dir, "console"))
	return strings.ReplaceAll(string(data), "\r", "")
}

func (g *Guest) current() (*running, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run == nil {
		return nil, fmt.Errorf("%s: %w", g.Name, ErrDead)
	}
	return g.run, nil
}

// start starts the kernel.
func (g *Guest) start() (*running, error) {
	first, err := initramfs(wire.Settings{
		Hostname: g.Name, Console: "/dev/tty1", Disk: g.disk(), Modules: g.kernel.modules, Load: g.Modules,
		Shared: maps.Clone(g.Shared), Init: g.Init, Offset: int64(g.ClockOffset),
	})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(g.dir, "initramfs")
	if err := os.WriteFile(path, first, 0o644); err != nil {
		return nil, err
	}
	console, err := os.OpenFile(filepath.Join(g.dir, "console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer console.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	here, there := os.NewFile(uintptr(pair[0]), "frames"), os.NewFile(uintptr(pair[1]), "guest's frames")
	defer there.Close()
	args := []string{
		fmt.Sprintf("mem=%dM", g.Memory), "initrd=" + path, "umid=guest", "uml_dir=" + g.dir + "/", "con=null", "ssl=null",
		"con0=null,fd:3", "con1=fd:4", "panic=-1", "loglevel=4", "rdinit=/init",
	}
	files := []*os.File{console, there}
	if g.Disk != "" {
		args = append(args, "ubd0="+filepath.Join(g.dir, "disk")+","+g.Disk)
	}
	for i, p := range g.Ports {
		args = append(args, fmt.Sprintf("vec%d:transport=fd,fd=%d,mac=%s", i, 3+len(files), p.MAC))
		files = append(files, p.guest)
	}
	command := exec.Command(g.kernel.program, args...)
	command.Stdout, command.Stderr, command.ExtraFiles = console, console, files
	command.Env = append(os.Environ(), "TMPDIR="+memoryDir(g.dir))
	// A kernel that is killed leaves its processes; the end of a name space of process numbers ends
	// them all.
	command.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Setpgid: true, Pdeathsig: unix.SIGKILL}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := startForLife(command); err != nil {
		here.Close()
		return nil, fmt.Errorf("start %s: %w", g.Name, err)
	}
	return newRunning(command, here), nil
}

func (g *Guest) disk() string {
	if g.Disk == "" {
		return ""
	}
	return "/dev/ubda"
}

// memoryDir is where the kernel keeps the guest's memory, in a file without a name.
func memoryDir(other string) string {
	if unix.Access("/dev/shm", unix.W_OK) == nil {
		return "/dev/shm"
	}
	return other
}
