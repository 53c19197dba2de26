package uct_test

import (
	"errors"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/uct"
	"testing"
	"time"
)

// rank is a rank of a job that is in this process with all others.
type rank struct {
	worker *uct.Worker
	md     *uct.MD
	iface  *uct.Iface
}

type job []*rank

// start starts a job with perNode ranks on each node.
func start(t testing.TB, nodes, perNode int) job {
	t.Helper()
	return startWith(t, nodes, perNode, pm.DefaultSettings())
}

func startWith(t testing.TB, nodes, perNode int, settings pm.Settings) job {
	t.Helper()
	var j job
	for _, ch := range localtest.Start(t, nodes, perNode, settings).Channels {
		r := &rank{worker: uct.NewWorker(), md: uct.NewMD(0)}
		r.iface = r.worker.Open(ch, r.md)
		t.Cleanup(func() {
			_ = r.worker.Close() // a test may have closed it
			if err := r.md.Close(); err != nil {
				t.Error(err)
			}
		})
		j = append(j, r)
	}
	return j
}

// ep is the way from one rank to another.
func (j job) ep(t testing.TB, from, to int) *uct.EP {
	t.Helper()
	ep, err := j[from].iface.EP(to)
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

const patience = 20 * time.Second

// until makes progress everywhere until done says so.
func (j job) until(t testing.TB, done func() bool) {
	t.Helper()
	localtest.Until(t, func() {
		for _, r := range j {
			r.worker.Progress()
		}
	}, done)
}

// retry begins an operation, with progress while resources are short.
func (j job) retry(t testing.TB, begin func() error) {
	t.Helper()
	j.until(t, func() bool {
		err := begin()
		if err != nil && !errors.Is(err, uct.ErrAgain) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// done counts completions.
type done struct {
	n   int
	err error
}

func (d *done) Complete(err error) {
	d.n++
	d.err = errors.Join(d.err, err)
}

const firstID = uct.FirstID

func eachShape(t *testing.T, f func(t *testing.T, j job)) {
	localtest.EachShape(t, func(t *testing.T, nodes, perNode int) { f(t, start(t, nodes, perNode)) })
}

// regions makes memory of rank 1 of both kinds.
func regions(t *testing.T, j job, size int) map[string]*uct.Region {
	t.Helper()
	window, err := j[1].md.Alloc(size, uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	other, err := j[1].md.Register(make([]byte, size), uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*uct.Region{"window": window, "other memory": other}
}
