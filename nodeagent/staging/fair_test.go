package staging

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/nodeagent/launch"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func twoUsers(t *testing.T) (ann, bob *launch.User) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has files of several users")
	}
	return &launch.User{UID: 1001, GID: 1001}, &launch.User{UID: 1002, GID: 1002}
}

// stuck gives one piece of a file and then nothing before over is closed.
func stuck(data []byte, begun chan<- struct{}, over <-chan struct{}) Fetch {
	return func(_ context.Context, _ int64, to io.Writer) error {
		_, err := to.Write(data)
		close(begun)
		<-over
		return errors.Join(err, errors.New("the sender has gone"))
	}
}

// An upload from which little came takes little: others have the room.
func TestAnIdleUploadTakesNoRoom(t *testing.T) {
	ann, bob := twoUsers(t)
	const limit = 16 << 20
	c := open(t, cacheDir(t), limit)
	begun, over, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Get(t.Context(), ann, File{Sum: [SumBytes]byte{1}, Size: limit / 2}, stuck([]byte("x"), begun, over))
	}()
	<-begun
	if got := c.List(ann.UID, false)[0].Bytes; got > grantBytes {
		t.Errorf("an upload of one byte counts %d", got)
	}
	for i := range byte(2) { // of 14 MB together
		data, file := content(7<<20, 10+i)
		if _, err := c.Get(t.Context(), bob, file, of(data)); err != nil {
			t.Errorf("another user's file: %v", err)
		}
	}
	close(over)
	<-done
	if got := c.List(ann.UID, false); len(got) != 0 {
		t.Errorf("what was given up counts: %v", got)
	}
}

// An upload from which nothing comes any more is given up; whoever sends the file next is heard.
func TestAnIdleUploadIsGivenUp(t *testing.T) {
	dir := cacheDir(t)
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(dir, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		data, file := content(10_000, 1)
		begun, over := make(chan struct{}), make(chan struct{})
		begin := time.Now()
		if _, err := c.Get(t.Context(), me(), file, stuck(data[:100], begun, over)); !errors.Is(err, ErrIdle) {
			t.Errorf("an idle upload: %v", err)
		}
		if took := time.Since(begin); took != idleWait {
			t.Errorf("given up after %v", took)
		}
		if _, err := c.Get(t.Context(), me(), file, of(data)); err != nil {
			t.Error(err)
		}
		close(over)
		c.Close()
		left, err := os.ReadDir(c.userDir(me().UID))
		if err != nil || len(left) != 1 {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}

// What one user's jobs hold leaves room for others, and what nobody holds goes first from who has
// most.
func TestUsersShareTheRoom(t *testing.T) {
	ann, bob := twoUsers(t)
	const limit, size = 8 << 20, 1 << 20
	c := open(t, cacheDir(t), limit)
	get := func(u *launch.User, seed byte) (File, error) {
		data, file := content(size, seed)
		_, err := c.Get(t.Context(), u, file, of(data))
		return file, err
	}
	bobs, err := get(bob, 100)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range byte(16) {
		if _, err := get(ann, seed); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Has(bob, bobs) {
		t.Error("the files of a user who sends many have driven out another one's")
	}
	for seed := range byte(5) {
		_, file := content(size, seed)
		c.Hold(1, ann, []File{file})
		_, err := get(ann, seed)
		if wanted := int(seed) < limit/userShare/size; (err == nil) != wanted || err != nil && !errors.Is(err, ErrFull) {
			t.Errorf("file %d that ann's job holds: %v", seed, err)
		}
		want := fmt.Sprintf("of the %d that those of one user may take of the %d for all", c.quota(), limit)
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for seed := range byte(4) {
		_, file := content(size, 100+seed)
		c.Hold(2, bob, []File{file})
		if _, err := get(bob, 100+seed); err != nil {
			t.Errorf("file %d that bob's job holds: %v", seed, err)
		}
	}
}

// Small files are bounded by their number: the oldest that nobody holds goes.
func TestFilesOfAUserAreCounted(t *testing.T) {
	c := open(t, cacheDir(t), 1<<30)
	data, first := content(10, 1)
	if _, err := c.Get(t.Context(), me(), first, of(data)); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	for i := range maxFilesOfUser - 1 {
		e := newEntry(key{uid: me().UID, sum: [SumBytes]byte{byte(i), byte(i >> 8), 0xff}}, 1)
		c.clock++
		e.used = c.clock
		close(e.over)
		c.entries[e.key] = e
	}
	c.mu.Unlock()
	data, last := content(10, 2)
	if _, err := c.Get(t.Context(), me(), last, of(data)); err != nil {
		t.Fatal(err)
	}
	if c.Has(me(), first) || !c.Has(me(), last) || len(c.entries) != maxFilesOfUser {
		t.Errorf("%d files; the oldest is here: %v", len(c.entries), c.Has(me(), first))
	}
}

// A user makes a file of any length in the directory that is the user's own. It drives out nobody's
// files at restart.
func TestALengthIsNotBelievedAtRestart(t *testing.T) {
	ann, bob := twoUsers(t)
	dir := cacheDir(t)
	c := open(t, dir, 1<<20)
	data, file := content(100_000, 1)
	if _, err := c.Get(t.Context(), bob, file, of(data)); err != nil {
		t.Fatal(err)
	}
	mine, fake := content(1000, 2)
	if _, err := c.Get(t.Context(), ann, fake, of(mine)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	path := filepath.Join(dir, strconv.Itoa(int(ann.UID)), hex.EncodeToString(fake.Sum[:]))
	const sparse = 1 << 40
	if err := os.Truncate(path, sparse); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, 1<<20)
	if !again.Has(bob, file) {
		t.Error("the file of another user is gone")
	}
	if kept := again.List(ann.UID, false)[0].Bytes; kept > 1<<20 {
		t.Errorf("a sparse file counts %d bytes", kept)
	}
	if _, err := again.Get(t.Context(), ann, fake, of(mine)); err != nil {
		t.Errorf("the file that it was: %v", err)
	}
}
