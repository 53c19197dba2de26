package tag_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"score/pm"
	"score/pm/local"
	"score/pm/local/localtest"
	"score/pm/mem/atomics"
	"score/pm/tag"
	"score/pm/uct"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests start this binary again as ranks; the environment names what a rank does.
const (
	roleEnv  = "TAG_TEST_ROLE"
	stepEnv  = "TAG_TEST_STEP"  // calls of Progress before rank 1 dies
	closeEnv = "TAG_TEST_CLOSE" // ranks that nobody may look into
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// startRanks starts two ranks in processes of their own.
func startRanks(t *testing.T, nodes int, role string, env ...string) *local.Group {
	t.Helper()
	return localtest.Ranks(t, local.Config{Nodes: nodes, Ranks: 2, Command: func(int) *exec.Cmd {
		cmd := localtest.Self(append(env, roleEnv+"="+role)...)
		if os.Getuid() == 0 { // root may look into all processes
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		return cmd
	}})
}

// member is a rank with all operations that there are under way to the other one.
type member struct {
	ep     *tag.Endpoint
	iface  *uct.Iface
	other  *uct.EP
	window *uct.Region
	plain  *uct.Region
	ctx    context.Context
}

const (
	long      = 3<<20 + 5
	windowKey = 1
	plainKey  = 2
)

func join() (*member, func(), error) {
	e, err := tag.Open(1)
	if err != nil {
		return nil, nil, err
	}
	m := &member{ep: e, iface: e.Iface()}
	if m.window, err = m.iface.MD().AllocKey(windowKey, long, uct.RemoteAll); err != nil {
		return nil, nil, err
	}
	if m.plain, err = m.iface.MD().RegisterKey(plainKey, make([]byte, long), uct.RemoteAll); err != nil {
		return nil, nil, err
	}
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithTimeout(context.Background(), patience)
	m.other, err = m.iface.EP(1 - m.iface.Rank())
	return m, cancel, err
}

func play(role string) error {
	for _, rank := range strings.Fields(os.Getenv(closeEnv)) {
		if rank == "all" {
			if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
				return err
			}
		}
	}
	m, cancel, err := join()
	if err != nil {
		return err
	}
	defer cancel()
	switch role {
	case "all":
		if os.Getenv(closeEnv) == strconv.Itoa(m.iface.Rank()) {
			if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
				return err
			}
		}
		if err := m.barrier(100); err != nil {
			return err
		}
		if err := m.all(); err != nil {
			return err
		}
		if closed := os.Getenv(closeEnv); closed != "" && m.iface.Counts().Streamed == 0 {
			return errors.New("nothing went through the channel")
		}
	case "die":
		if m.iface.Rank() == 1 {
			m.dieAfter()
		}
		return m.survive()
	}
	if err := m.barrier(101); err != nil {
		return err
	}
	return m.iface.Close()
}

// barrier ends when the other rank is there, too.
func (m *member) barrier(t uint64) error {
	var s, r tag.Op
	other := tag.Peer{Rank: uint32(m.other.Rank())}
	if err := m.ep.Receive(&r, tag.Criteria{Source: other, Tag: t}, nil); err != nil {
		return err
	}
	if err := m.ep.Send(&s, other, t, nil); err != nil {
		return err
	}
	return m.ep.Wait(m.ctx, &s, &r)
}

func pattern(rank, turn, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(rank), uint64(turn)))
	b := make([]byte, n)
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b
}

// all does each operation in several lengths, and compares.
func (m *member) all() error {
	for turn, n := range []int{8, 5000, 40_000, 300_000, long} {
		if err := m.exchange(turn, n); err != nil {
			return fmt.Errorf("messages of %d bytes: %w", n, err)
		}
		for _, region := range []*uct.Region{m.window, m.plain} {
			if err := m.oneSided(region, turn, n); err != nil {
				return fmt.Errorf("%d bytes, key %d: %w", n, region.Key(), err)
			}
		}
	}
	return nil
}

func (m *member) exchange(turn, n int) error {
	me, other := m.iface.Rank(), m.other.Rank()
	got := make([]byte, n)
	var s, r tag.Op
	if err := m.ep.Receive(&r, tag.Criteria{Source: tag.AnyPeer, Tag: uint64(turn)}, got); err != nil {
		return err
	}
	if err := m.ep.Send(&s, tag.Peer{Rank: uint32(other)}, uint64(turn), pattern(me, turn, n)); err != nil {
		return err
	}
	if err := m.ep.Wait(m.ctx, &s, &r); err != nil {
		return err
	}
	if !bytes.Equal(got, pattern(other, turn, n)) {
		return errors.New("a message differs")
	}
	return nil
}

// oneSided puts, gets and counts in the other's memory, where nobody else writes.
func (m *member) oneSided(mine *uct.Region, turn, n int) error {
	w := m.iface.Worker()
	data, back := pattern(m.iface.Rank(), turn, n), make([]byte, n)
	at := uct.Remote{Key: mine.Key()}
	if err := m.barrier(102); err != nil {
		return err
	}
	for range 3 {
		if err := w.Do(m.ctx, func(d uct.Completion) error { return m.other.Put(data, at, d) }); err != nil {
			return err
		}
		if err := w.Do(m.ctx, func(d uct.Completion) error { return m.other.Get(back, at, d) }); err != nil {
			return err
		}
		if !bytes.Equal(data, back) {
			return errors.New("a get does not see the put before it")
		}
	}
	if err := m.barrier(103); err != nil {
		return err
	}
	if !bytes.Equal(mine.Bytes()[:n], pattern(m.other.Rank(), turn, n)) {
		return errors.New("the other's put did not arrive")
	}
	if err := m.barrier(104); err != nil {
		return err
	}
	return m.count(at, data)
}

func (m *member) count(at uct.Remote, before []byte) error {
	one, result := []byte{1, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 8)
	sum := uct.AtomicKind{Op: atomics.Sum, Type: atomics.Uint64}
	first := binary.LittleEndian.Uint64(before)
	for i := range uint64(5) {
		err := m.iface.Worker().Do(m.ctx, func(d uct.Completion) error { return m.other.FetchAtomic(sum, one, nil, result, at, d) })
		if err != nil {
			return err
		}
		if got := binary.LittleEndian.Uint64(result); got != first+i {
			return fmt.Errorf("fetch-and-add returned %d, want %d", got, first+i)
		}
	}
	return nil
}

// TestProcesses: all operations between processes, where these may look into each other, where none
// may, and where only one may.
func TestProcesses(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		for name, closed := range map[string]string{"open": "", "closed": "all", "one closed": "0"} {
			t.Run(fmt.Sprintf("%d/%s", nodes, name), func(t *testing.T) {
				if err := startRanks(t, nodes, "all", closeEnv+"="+closed).Wait(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// dieAfter begins everything and dies within it.
func (m *member) dieAfter() {
	steps, _ := strconv.Atoi(os.Getenv(stepEnv))
	_, _ = m.begin(nil)
	for range steps {
		m.iface.Worker().Progress()
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}

// ending is a completion that counts itself.
type ending struct {
	left *int
	ends int
	err  error
}

func (e *ending) Complete(err error) {
	e.ends++
	e.err = err
	*e.left--
}

// begin begins messages both ways, with rendezvous, and one-sided operations.
func (m *member) begin(left *int) (ops []*tag.Op, ends []*ending) {
	if left == nil {
		left = new(int)
	}
	other := tag.Peer{Rank: uint32(m.other.Rank())}
	add := func(begin func(o *tag.Op) error) {
		o := &tag.Op{OnDone: func(*tag.Op) { *left-- }}
		*left++
		if begin(o) != nil {
			*left--
			return
		}
		ops = append(ops, o)
	}
	one := func(begin func(uct.Completion) error) {
		e := &ending{left: left}
		*left++
		if begin(e) != nil {
			*left--
			return
		}
		ends = append(ends, e)
	}
	for _, n := range []int{8, 10_000, long} {
		add(func(o *tag.Op) error {
			return m.ep.Receive(o, tag.Criteria{Source: other, Tag: uint64(n)}, make([]byte, n))
		})
		add(func(o *tag.Op) error { return m.ep.Send(o, other, uint64(n), make([]byte, n)) })
		add(func(o *tag.Op) error {
			return m.ep.SendWith(o, other, uint64(n)+1, make([]byte, n), tag.SendOptions{Sync: true})
		})
		add(func(o *tag.Op) error {
			return m.ep.Receive(o, tag.Criteria{Source: other, Tag: uint64(n) + 1}, make([]byte, n))
		})
		for _, key := range []uint64{windowKey, plainKey} {
			at := uct.Remote{Key: key}
			one(func(d uct.Completion) error { return m.other.Put(make([]byte, n), at, d) })
			one(func(d uct.Completion) error { return m.other.Get(make([]byte, n), at, d) })
			one(func(d uct.Completion) error {
				return m.other.FetchAtomic(uct.AtomicKind{Type: atomics.Uint64, Swap: true}, make([]byte, 8), make([]byte, 8), make([]byte, 8), at, d)
			})
		}
	}
	return ops, ends
}

// survive ends when all operations have: each once, well or with the news of the death.
func (m *member) survive() error {
	left := 0
	ops, ends := m.begin(&left)
	for left > 0 {
		if err := m.iface.Worker().Turn(m.ctx); err != nil {
			return fmt.Errorf("%d operations left: %w", left, err)
		}
	}
	known := func(err error) bool { return err == nil || errors.Is(err, pm.ErrPeerGone) }
	for _, o := range ops {
		if !o.Done() || !known(o.Err) {
			return fmt.Errorf("tag %d: done %v: %w", o.Tag, o.Done(), o.Err)
		}
	}
	for _, e := range ends {
		if e.ends != 1 || !known(e.err) {
			return fmt.Errorf("ended %d times: %w", e.ends, e.err)
		}
	}
	if left < 0 {
		return errors.New("something ended twice")
	}
	return m.iface.Close()
}

// TestDeathAtEachStep kills a rank at each step of all operations at once.
func TestDeathAtEachStep(t *testing.T) {
	steps := []int{0, 1, 2, 3, 4, 6, 9, 13, 20, 40, 80, 200}
	for _, nodes := range []int{1, 2} {
		for _, closed := range []string{"", "all"} {
			for _, step := range steps {
				t.Run(fmt.Sprintf("%d/%s/%d", nodes, closed, step), func(t *testing.T) {
					t.Parallel()
					start := time.Now()
					g := startRanks(t, nodes, "die", stepEnv+"="+strconv.Itoa(step), closeEnv+"="+closed)
					err := g.Wait()
					if err == nil || strings.Contains(err.Error(), "rank 0") {
						t.Errorf("after %v: %v", time.Since(start), err)
					}
				})
			}
		}
	}
}
