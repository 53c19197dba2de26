package tag_test

import (
	"score/channels/abi"
	"score/pm"
	"score/pm/local/localtest"
	"score/pm/tag"
	"score/pm/uct"
	"testing"
)

// TestCountsAreSeenFromOutside: what the stack counts is in the channel's image.
func TestCountsAreSeenFromOutside(t *testing.T) {
	started := localtest.Start(t, 1, 2, pm.DefaultSettings())
	var j job
	for _, ch := range started.Channels {
		j = append(j, newRank(t, ch, tag.Settings{}))
	}
	seen := func(rank uint32, c abi.Counter, want uint64) {
		t.Helper()
		img, err := started.Hub.Image(1, rank)
		if err != nil {
			t.Fatal(err)
		}
		j.until(t, func() bool { return img.Counter(c) == want })
	}
	var short, long, r tag.Op
	_ = j[0].ep.Send(&short, peer(1), 1, make([]byte, 500))
	_ = j[0].ep.Send(&long, peer(1), 2, make([]byte, 100_000))
	seen(1, abi.UnexpectedBytes, 500)
	seen(0, abi.RendezvousOpen, 1)
	seen(0, abi.Rendezvous, 1)
	_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 2}, make([]byte, 100_000))
	j.until(t, func() bool { return r.Done() && long.Done() })
	seen(0, abi.RendezvousOpen, 0)
	_ = j[1].ep.Receive(&r, tag.Criteria{Source: peer(0), Tag: 1}, make([]byte, 500))
	seen(1, abi.UnexpectedBytes, 0)
	counts := j[1].iface.Counts()
	if sent := j[0].iface.Counts(); counts.Copied+sent.Streamed < 100_000 {
		t.Errorf("sent %+v, received %+v", sent, counts)
	}
	seen(1, abi.CopiedBytes, counts.Copied)
	window, err := j[1].iface.MD().Alloc(4096, uct.RemoteAll)
	if err != nil {
		t.Fatal(err)
	}
	ep, err := j[0].iface.EP(1)
	if err != nil {
		t.Fatal(err)
	}
	j.until(t, func() bool {
		if ep.Quiet() {
			_ = ep.Put([]byte{1}, uct.Remote{Key: window.Key()}, nil)
		}
		return j[0].iface.Counts().Direct == 1
	})
	seen(0, abi.DirectOperations, 1)
	seen(0, abi.WindowsMapped, 1)
	_ = ep.Send(uct.Header{ID: uct.FirstID}, nil) // an eager message without a tag
	seen(1, abi.PeersGivenUp, 1)
}
