package stewardpool

import (
	"errors"
	"os"
	"os/exec"
	"score/nodeagent/steward/client"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Memory of a job that has ended and whose descriptor another process holds counts for its user, until
// it is free; then its control group is removed.
func TestHeldMemoryOfAUserIsBounded(t *testing.T) {
	const bytes = 2 * maxCharged
	p := testPool(t, 0)
	claim := func(user uint32) (*Steward, error) {
		return p.Claim(t.Context(), user, false, client.Events{Closed: func(error) {}})
	}
	s, err := claim(ann)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.group.SharedMemory(); err != nil {
		t.Skip(err)
	}
	fd, err := unix.MemfdCreate("held", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	held := os.NewFile(uintptr(fd), "held")
	fill := exec.CommandContext(t.Context(), "/bin/sh", "-c",
		`for dir; do echo $$ >$dir/cgroup.procs || exit; done; exec head -c 8388608 /dev/zero >&3`, "sh")
	fill.Args = append(fill.Args, append(s.group.ThreadDirs(), s.group.Dir())...)
	fill.ExtraFiles = []*os.File{held}
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left := p.discard(s); left != nil {
		t.Errorf("the end of the job waits for %v", left.err)
	}
	for _, test := range []struct {
		memory uint64
		user   uint32
		want   error
	}{{bytes * heldPart, ann, nil}, {bytes*heldPart - heldPart, ann, ErrHeld}, {bytes*heldPart - heldPart, bob, nil}} {
		p.options.Memory = test.memory
		s, err := claim(test.user)
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("with %d bytes of memory, user %d: %v, want %v", test.memory, test.user, err, test.want)
		}
		if err == nil {
			p.discard(s)
		}
	}
	if text := p.Problem(); !strings.HasPrefix(text, "8 MiB of memory of jobs that have ended") {
		t.Errorf("the node tells of its trouble: %q", text)
	}
	if p.retryStuck() == 0 {
		t.Error("the group is removed while its memory is held")
	}
	held.Close()
	if again := p.retryStuck(); again != 0 || p.Problem() != "" {
		t.Errorf("after the memory is free: %v, and the trouble is %q", again, p.Problem())
	}
	if s, err = claim(ann); err != nil {
		t.Fatal(err)
	}
	p.discard(s)
}
