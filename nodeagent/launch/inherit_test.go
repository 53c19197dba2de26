package launch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// oddEnv makes the test binary a launcher that was started in odd ways.
const oddEnv = "LAUNCH_TEST_ODD"

// agentsKey is a key that the launcher's caller has in its session keyring.
const agentsKey = "score-test-secret"

// facts has a rank tell what it has inherited: lines of a name and a value.
const facts = `
for f in oom_score_adj loginuid personality timerslack_ns coredump_filter; do
	echo "$f: $(cat /proc/self/$f 2>/dev/null)"
done
cat /proc/self/status
set -- $(cat /proc/self/stat)
echo "session: $6"; echo "tty: $7"; echo "nice: ${19}"; echo "rtprio: ${40}"; echo "policy: ${41}"
echo "umask: $(umask)"
echo "owner: $(stat -L -c %u /proc/self)"
echo "io: $(ionice)"
echo "keys: $(grep -c ` + agentsKey + ` /proc/keys)"
echo "fds: $(ls /proc/self/fd | tr '\n' ' ')"
echo "cwd: $(readlink /proc/self/cwd)"
echo "root: $(readlink /proc/self/root)"
echo "environ: $(cat /proc/self/environ | tr '\0' ' ')"
for n in cgroup ipc mnt net pid time user uts; do echo "ns.$n: $(readlink /proc/self/ns/$n)"; done
`

// oddLauncher starts a rank of nobody's that tells its facts.
func oddLauncher() int {
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	exits := make(chan Exit, 1)
	var w *watched
	if err == nil {
		w, err = newWatched()
	}
	var f *Forker
	if err == nil {
		r := NewReaper(w.watch)
		w.reap(r, func(e Exit) { exits <- e })
		f, err = NewForker(r)
	}
	if err == nil {
		f.BeginJob(nobody)
	}
	umask := uint32(0o27)
	if err == nil {
		_, err = f.startOne(&Rank{
			Path: "/bin/sh", Argv: []string{"sh", "-c", facts}, Env: []string{"A=b"}, Dir: "/", Stdout: 1, Stderr: 2,
			User: nobody, Umask: &umask,
		})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	<-exits
	return 0
}

// odd makes the calling thread one from which nobody would want to inherit.
func odd() error {
	const noRandomize, realtimeIO = 0x40000, 1 << 13
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("timer slack: %w", err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, noRandomize, 0, 0); errno != 0 {
		return fmt.Errorf("personality: %w", errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, 0, realtimeIO); errno != 0 {
		return fmt.Errorf("I/O priority: %w", errno)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -5); err != nil {
		return fmt.Errorf("nice: %w", err)
	}
	if err := newKeyring(); err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	if _, err := unix.AddKey("user", agentsKey, []byte("x"), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable |= 1 << unix.CAP_NET_RAW
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_RAW, 0, 0)
}

// TestInheritance: what a rank has of the daemon that starts it is in the list of
// docs/SECURITY.md, however that daemon was started.
func TestInheritance(t *testing.T) {
	needRoot(t)
	if _, err := exec.LookPath("ionice"); err != nil {
		t.Skip(err)
	}
	launcher := exec.CommandContext(t.Context(), "/proc/self/exe")
	launcher.Env = append(os.Environ(), oddEnv+"=1")
	var output bytes.Buffer
	launcher.Stdout, launcher.Stderr = &output, &output
	done := make(chan error, 1)
	go func() { // on a thread that is not used again
		runtime.LockOSThread()
		if err := odd(); err != nil {
			done <- err
			return
		}
		done <- launcher.Run()
	}()
	if err := <-done; err != nil {
		t.Fatalf("%v: %s", err, output.String())
	}
	has := make(map[string]string)
	for line := range strings.Lines(output.String()) {
		name, value, _ := strings.Cut(line, ":")
		has[name] = strings.Join(strings.Fields(value), " ")
	}
	want := map[string]string{
		"Uid": "65534 65534 65534 65534", "Gid": "65533 65533 65533 65533", "Groups": "65531 65532",
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "0",
		"oom_score_adj": strconv.Itoa(rankOOMScore), "personality": "00000000", "timerslack_ns": strconv.Itoa(usualTimerSlack),
		"tty": "0", "nice": "0", "rtprio": "0", "policy": "0", "io": "none: prio 0", "keys": "0",
		"umask": "0027", "owner": "65534", "fds": "0 1 2 3", "cwd": "/", "root": "/", "environ": "A=b PWD=/",
	}
	// The fourth descriptor is ls's own. Where the kernel audits, it knows the user.
	if text, err := os.ReadFile("/proc/self/loginuid"); err == nil && len(text) > 0 {
		want["loginuid"] = "65534"
	}
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		_, want["ns."+kind], _ = strings.Cut("x:"+own, ":")
	}
	for name, value := range want {
		if has[name] != value {
			t.Errorf("%s of a rank is %q, want %q", name, has[name], value)
		}
	}
}

// A job whose session could not be made gets no ranks; the next one does.
func TestBeginJobFails(t *testing.T) {
	b := newBench(t)
	b.BeginJob(nil)
	failure := errors.New("no keys")
	if err := b.Do(func() error { b.begun = failure; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := b.startOne(shell(t, 3, "exit 0", nil)); !errors.Is(err, failure) {
		t.Errorf("a rank was started: %v", err)
	}
	started, err := b.StartAll([]Rank{*shell(t, 3, "exit 0", nil)})
	if len(started) != 0 || !errors.Is(err, failure) {
		t.Errorf("%d ranks were started: %v", len(started), err)
	}
	b.BeginJob(nil)
	if _, err := b.startOne(shell(t, 3, "exit 0", nil)); err != nil {
		t.Fatal(err)
	}
	b.exit(t)
}
