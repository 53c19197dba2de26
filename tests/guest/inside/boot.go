package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/tests/guest/wire"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// newRoot is where the guest's root is prepared.
const newRoot = "/root"

// errAgent is the end of a guest without an init.
var errAgent = errors.New("the agent has ended")

// environment is what commands and an init begin with.
var environment = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb"}

// mountAt mounts, and makes the directory.
func mountAt(source, target, kind string, flags uintptr, data string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount %s at %s: %w", kind, target, err)
	}
	return nil
}

// hostfs mounts a directory of this machine, which the guest cannot change.
func hostfs(dir, target string) error { return mountAt("none", target, "hostfs", unix.MS_RDONLY, dir) }

func boot(s wire.Settings) error {
	if s.Offset != 0 {
		at := unix.NsecToTimeval(time.Now().UnixNano() + s.Offset)
		if err := unix.Settimeofday(&at); err != nil {
			return fmt.Errorf("set the clock: %w", err)
		}
	}
	if err := mountAt("dev", "/dev", "devtmpfs", 0, ""); err != nil {
		return err
	}
	if err := mountAt("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := hostfs(s.Modules, "/modules"); err != nil {
		return err
	}
	if err := load("/modules", append([]string{"ext4", "overlay"}, s.Load...)); err != nil {
		return err
	}
	if err := mountRoot(s); err != nil {
		return err
	}
	program, err := os.ReadFile("/init")
	if err != nil {
		return err
	}
	if err := enter(); err != nil {
		return err
	}
	if err := os.WriteFile(agentPath, program, 0o755); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return err
	}
	return begin(s)
}

// mountRoot mounts all that a command or an init finds.
func mountRoot(s wire.Settings) error {
	if s.Disk != "" {
		if err := mountAt(s.Disk, newRoot, "ext4", 0, ""); err != nil {
			return err
		}
	} else if err := mountOverlay(); err != nil {
		return err
	}
	for _, m := range []struct {
		kind, at, data string
	}{
		{"devtmpfs", "/dev", ""},
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666"},
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"tmpfs", "/run", "mode=755"},
	} {
		if err := mountAt(m.kind, newRoot+m.at, m.kind, 0, m.data); err != nil {
			return err
		}
	}
	if len(s.Init) == 0 {
		if err := mountAt("cgroup2", newRoot+"/sys/fs/cgroup", "cgroup2", 0, ""); err != nil {
			return err
		}
		if err := mountAt("tmpfs", newRoot+"/tmp", "tmpfs", 0, "mode=1777"); err != nil {
			return err
		}
	}
	if release, err := kernelRelease(); err == nil {
		// Without the directory on its disk, a guest has no modules but those loaded here.
		_ = hostfs(s.Modules, newRoot+"/lib/modules/"+release)
	}
	for at, dir := range s.Shared {
		if err := hostfs(dir, newRoot+at); err != nil {
			return err
		}
	}
	return nil
}

// mountOverlay makes a root of this machine's, in which the guest can write, into its own memory.
func mountOverlay() error {
	if err := hostfs("/", "/lower"); err != nil {
		return err
	}
	if err := mountAt("tmpfs", "/upper", "tmpfs", 0, ""); err != nil {
		return err
	}
	for _, dir := range []string{"/upper/data", "/upper/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	return mountAt("overlay", newRoot, "overlay", 0, "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work")
}

// enter makes the new root the root.
func enter() error {
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// begin starts the agent, and becomes the guest's own init or, without one, waits for the end of
// all processes that lose their parents.
func begin(s wire.Settings) error {
	agent := &exec.Cmd{Path: agentPath, Args: []string{agentName, s.Console}, Env: environment, Dir: "/"}
	agent.Stderr = os.Stderr
	agent.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if len(s.Init) != 0 {
		if err := agent.Start(); err != nil {
			return err
		}
		return unix.Exec(s.Init[0], s.Init, environment)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	if err := agent.Start(); err != nil {
		return err
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == agent.Process.Pid || err != nil && !errors.Is(err, unix.EINTR) {
			return errAgent
		}
	}
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	device, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	device.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, device)
}

func kernelRelease() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(name.Release[:]), nil
}

// load loads modules, after those that they need.
func load(dir string, names []string) error {
	list, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return err
	}
	needs, paths := map[string][]string{}, map[string]string{}
	for line := range bytes.Lines(list) {
		path, deps, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		needs[path] = strings.Fields(deps)
		paths[strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".ko"), "-", "_")] = path
	}
	for _, name := range names {
		path, ok := paths[strings.ReplaceAll(name, "-", "_")]
		if !ok {
			continue // it is built in, or what needs it will tell
		}
		// The list has what a module needs after what needs that.
		for i := len(needs[path]) - 1; i >= 0; i-- {
			if err := insert(filepath.Join(dir, needs[path][i])); err != nil {
				return err
			}
		}
		if err := insert(filepath.Join(dir, path)); err != nil {
			return err
		}
	}
	return nil
}

func insert(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load %s: %w", path, err)
	}
	return nil
}
