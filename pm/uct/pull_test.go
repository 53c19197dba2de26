package uct_test

import (
	"bytes"
	"errors"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/uct"
	"testing"
)

func TestPull(t *testing.T) {
	eachShape(t, func(t *testing.T, j job) {
		window, err := j[1].md.Alloc(1<<20, uct.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		for name, source := range map[string][]byte{"window": window.Bytes(), "other memory": make([]byte, 1<<20)} {
			copy(source, localtest.RandomBytes(len(source)))
			for turn := range 3 {
				from := j[1].md.Expose(source)
				got := make([]byte, len(source))
				var d done
				ep := j.ep(t, 0, 1)
				j.retry(t, func() error { return ep.Pull(got, from, &d) })
				j.until(t, func() bool { return d.n == 1 })
				j[1].md.Conceal(from)
				if d.err != nil || !bytes.Equal(got, source) {
					t.Errorf("%s, turn %d: %v", name, turn, d.err)
				}
			}
		}
	})
}

// TestPullFromBusyPeer: the owner of the bytes makes no progress until they were copied, and its
// answer, which comes later, changes nothing.
func TestPullFromBusyPeer(t *testing.T) {
	j := start(t, 1, 2)
	data, got := localtest.RandomBytes(300<<10), make([]byte, 300<<10)
	var d done
	ep := j.ep(t, 1, 0)
	from := j[0].md.Expose(data)
	j.retry(t, func() error { return ep.Send(uct.Header{ID: firstID}, nil) }) // the peer's process is known
	j.retry(t, func() error { return ep.Pull(got, from, &d) })
	job{j[1]}.until(t, func() bool { return d.n == 1 })
	if d.err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%v", d.err)
	}
	j[0].md.Conceal(from)
	clear(data)
	want := bytes.Clone(got)
	j.until(t, ep.Quiet)
	if d.n != 1 || !bytes.Equal(got, want) || ep.Err() != nil {
		t.Errorf("%d completions, %v", d.n, ep.Err())
	}
}

// TestConcealEndsAnswers: the owner stops reading memory that it may free.
func TestConcealEndsAnswers(t *testing.T) {
	j := start(t, 2, 1)
	data, got := make([]byte, 8<<20), make([]byte, 8<<20)
	var d done
	ep := j.ep(t, 1, 0)
	from := j[0].md.Expose(data)
	j.retry(t, func() error { return ep.Pull(got, from, &d) })
	j.until(t, func() bool { return j[0].iface.Counts().Streamed > 0 })
	j[0].md.Conceal(from)
	j[0].md.Expose([]byte{1}) // under the same key; the answer must not go on with it
	j.until(t, func() bool { return d.n == 1 })
	if !errors.Is(d.err, uct.ErrKey) {
		t.Errorf("%v", d.err)
	}
}

// TestCrowdedRanksCopy: ranks that share CPUs copy once.
func TestCrowdedRanksCopy(t *testing.T) {
	settings := pm.DefaultSettings()
	settings.Spin = 0
	j := startWith(t, 1, 2, settings)
	r, err := j[0].md.Register(localtest.RandomBytes(1<<20), uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	data, got := localtest.RandomBytes(1<<20), make([]byte, 1<<20)
	var d done
	ep, at := j.ep(t, 1, 0), uct.Remote{Key: r.Key()}
	j.retry(t, func() error { return ep.Put(data, at, &d) })
	j.until(t, func() bool { return d.n == 1 })
	j.retry(t, func() error { return ep.Get(got, at, &d) })
	j.until(t, func() bool { return d.n == 2 })
	if d.err != nil || !bytes.Equal(got, data) || !bytes.Equal(r.Bytes(), data) {
		t.Error(d.err)
	}
	if j[0].iface.Counts().Copied+j[1].iface.Counts().Copied == 0 {
		t.Error("nothing was copied between the processes")
	}
}

// TestCrowdedRanksRead: ranks that share CPUs read each other's memory without the other's turn,
// and no longer when it is closed.
func TestCrowdedRanksRead(t *testing.T) {
	settings := pm.DefaultSettings()
	settings.Spin = 0
	j := startWith(t, 1, 2, settings)
	r, err := j[0].md.Register(localtest.RandomBytes(100), uct.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBase(1000)
	ep, at := j.ep(t, 1, 0), uct.Remote{Key: r.Key(), Offset: 1090}
	got := make([]byte, 10)
	var d done
	j.until(t, func() bool { // it asks for the description first
		d = done{}
		j.retry(t, func() error { return ep.GetAlone(got, at, &d) })
		alone := d.n == 1
		j.until(t, func() bool { return d.n == 1 })
		return alone
	})
	if d.err != nil || !bytes.Equal(got, r.Bytes()[90:]) {
		t.Errorf("%v, or wrong bytes", d.err)
	}
	for _, c := range []struct {
		what     string
		n        int
		offset   uint64
		expected error
	}{{"beyond the end", 11, 1090, uct.ErrRange}, {"before the begin", 1, 999, uct.ErrRange}, {"closed", 10, 1090, uct.ErrKey}} {
		if errors.Is(c.expected, uct.ErrKey) {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		d = done{}
		j.retry(t, func() error { return ep.GetAlone(make([]byte, c.n), uct.Remote{Key: at.Key, Offset: c.offset}, &d) })
		j.until(t, func() bool { return d.n == 1 })
		if !errors.Is(d.err, c.expected) {
			t.Errorf("%s: %v", c.what, d.err)
		}
	}
}
