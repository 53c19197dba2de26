package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAsUser(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	secret := filepath.Join(dir, "secret")
	write(t, secret, []byte("x"), 0o600)
	if err := os.Mkdir(filepath.Join(dir, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "shared"), 0o777); err != nil {
		t.Fatal(err)
	}
	err := AsUser(nobody, func() error {
		if _, err := os.ReadFile(secret); !errors.Is(err, os.ErrPermission) {
			t.Errorf("reading root's file: %v", err)
		}
		return os.WriteFile(filepath.Join(dir, "shared", "out"), nil, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "shared", "out"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != nobody.UID || st.Gid != nobody.GID {
		t.Errorf("the new file belongs to %d:%d", st.Uid, st.Gid)
	}
}

func TestAsUserHasTheGroups(t *testing.T) {
	needRoot(t)
	dir := openDir(t)
	path := filepath.Join(dir, "group")
	write(t, path, []byte("x"), 0o640)
	if err := os.Chown(path, 0, int(nobody.Groups[0])); err != nil {
		t.Fatal(err)
	}
	read := func(u *User) error {
		return AsUser(u, func() error {
			_, err := os.ReadFile(path)
			return err
		})
	}
	if err := read(nobody); err != nil {
		t.Errorf("a member of the group: %v", err)
	}
	if err := read(&User{UID: nobody.UID, GID: nobody.GID}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("no member of the group: %v", err)
	}
}

// The rest of the process keeps its identity, however often and at once others
// act as a user.
func TestAsUserDoesNotLeak(t *testing.T) {
	needRoot(t)
	path := filepath.Join(openDir(t), "secret")
	write(t, path, []byte("x"), 0o600)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			err := AsUser(nobody, func() error {
				_, err := os.ReadFile(path)
				return err
			})
			if !errors.Is(err, os.ErrPermission) {
				t.Errorf("as the user: %v", err)
			}
		})
		all.Go(func() {
			if _, err := os.ReadFile(path); err != nil {
				t.Errorf("as root: %v", err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile("/proc/self/status") // the first thread's
	if err != nil || !strings.Contains(string(text), "\nUid:\t0\t0\t0\t0\n") {
		t.Errorf("the first thread acts as somebody else now: %s, %v", text, err)
	}
}

func TestAsUserBringsErrorsBack(t *testing.T) {
	bad := errors.New("bad")
	for _, u := range []*User{nil, nobody} {
		if err := AsUser(u, func() error { return bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
	}
}

// For who has the ids of this process no thread is made, and for others one is.
func TestAsCaller(t *testing.T) {
	needRoot(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	groups, err := unix.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	caller := &User{UID: 0, GID: uint32(os.Getegid())}
	for _, group := range groups {
		caller.Groups = append(caller.Groups, uint32(group))
	}
	more := *caller
	more.Groups = append([]uint32{65533}, caller.Groups...)
	for name, test := range map[string]struct {
		user *User
		same bool
	}{
		"caller":            {caller, true},
		"with other groups": {&more, false},
		"somebody else":     {&User{UID: 65534, GID: 65534}, false},
	} {
		thread := 0
		if err := AsUser(test.user, func() error { thread = unix.Gettid(); return nil }); err != nil {
			t.Fatal(err)
		}
		if same := thread == unix.Gettid(); same != test.same {
			t.Errorf("%s: on the same thread: %v", name, same)
		}
	}
}

// What acts as a user has no capability at all, and is no process of the user's that he could end.
func TestAsUserHasNoOtherRights(t *testing.T) {
	needRoot(t)
	err := AsUser(nobody, func() error {
		text, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			return err
		}
		for line, allowed := range map[string]uint64{"CapInh": 0, "CapPrm": 1 << unix.CAP_IPC_LOCK, "CapEff": 1 << unix.CAP_IPC_LOCK, "CapAmb": 0} {
			_, rest, _ := strings.Cut(string(text), "\n"+line+":\t")
			set, _, _ := strings.Cut(rest, "\n")
			if has, err := strconv.ParseUint(set, 16, 64); err != nil || has&^allowed != 0 {
				t.Errorf("%s is %q, %v", line, set, err)
			}
		}
		if !strings.Contains(string(text), "\nUid:\t0\t65534\t0\t65534\n") {
			t.Errorf("ids: %s", text)
		}
		if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
			t.Errorf("dumpable: %d, %v", dumpable, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// In a process whose memory is all locked, as an agent's is, and which may lock little without
// the capability, what acts as a user still gets memory.
func TestActorGetsMemory(t *testing.T) {
	needRoot(t)
	const little, much = 64 << 10, 64 << 20
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: little, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_MEMLOCK, &before) }()
	err := AsUser(nobody, func() error {
		memory, err := unix.Mmap(-1, 0, much, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_LOCKED)
		if err != nil {
			return err
		}
		return unix.Munmap(memory)
	})
	if err != nil {
		t.Error(err)
	}
}

// Neither the thread nor its process takes signals or limits of the user as whom it acts.
func TestActorIsNotTheUsers(t *testing.T) {
	needRoot(t)
	a, err := NewActor(nobody)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	thread := 0
	if err := a.Do(func() error { thread = unix.Gettid(); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"kill -0 %d", "prlimit --pid %d --nofile=3", "cat /proc/%d/maps", "ls /proc/%d/fd"} {
		sh := exec.Command("/bin/sh", "-c", fmt.Sprintf(line, thread))
		sh.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody.UID, Gid: nobody.GID}}
		sh.Dir = "/"
		if out, err := sh.CombinedOutput(); err == nil {
			t.Errorf("the user may: %s: %s", line, out)
		}
	}
}

// By way of another's process there is no way into that user's directories.
func TestAsUserBehindProcesses(t *testing.T) {
	needRoot(t)
	private := filepath.Join(openDir(t), "private")
	work := filepath.Join(private, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(work, "secret"), []byte("x"), 0o666)
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	cat := exec.Command("/bin/cat")
	cat.Dir = work
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cat.Wait() }()
	behind := fmt.Sprintf("/proc/%d/cwd/secret", cat.Process.Pid)
	if _, err := os.ReadFile(behind); err != nil {
		t.Fatalf("there is no such way: %v", err)
	}
	err = AsUser(nobody, func() error {
		_, err := os.ReadFile(behind)
		return err
	})
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("through /proc: %v", err)
	}
}

// What an Actor writes the user has written: set-id bits go.
func TestActorWrites(t *testing.T) {
	needRoot(t)
	path := filepath.Join(openDir(t), "out")
	write(t, path, []byte{}, 0o666)
	if err := os.Chmod(path, 0o666|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	a, err := NewActor(nobody)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Do(func() error {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString("x")
		return errors.Join(err, file.Close())
	})
	a.Close()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := a.Do(func() error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
