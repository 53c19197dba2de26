package node

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link"
	"score/tests/await"
	"score/tests/processes"
	"slices"
	"testing"
	"time"
)

// asker is a socket that asks a directory.
type asker struct {
	t    *testing.T
	conn *net.UDPConn
}

func ask(t *testing.T, n *Node) *asker {
	t.Helper()
	needUDP(t, n)
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(n.Directory()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &asker{t: t, conn: conn}
}

// needUDP ends a test of what is done with hosts and ports.
func needUDP(t testing.TB, n *Node) {
	t.Helper()
	if n.config.Link != link.UDP {
		t.Skip("names have no hosts; what comes to them is tested by TestNamesBoundByOthers")
	}
}

func encode(h link.Head) []byte {
	var w link.Writer
	buf := make([]byte, link.MaxDatagram)
	w.Begin(buf, link.MaxDatagram, &h)
	return buf[:w.Finish(0)]
}

func (a *asker) post(data []byte) {
	a.t.Helper()
	if _, err := a.conn.Write(data); err != nil {
		a.t.Fatal(err)
	}
}

// where asks until an answer comes, and returns it.
func (a *asker) where(h link.Head) link.Head {
	a.t.Helper()
	h.Kind = link.Where
	buf := make([]byte, link.MaxDatagram)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		a.post(encode(h))
		_ = a.conn.SetReadDeadline(time.Now().Add(time.Second))
		n, err := a.conn.Read(buf)
		if err != nil {
			continue
		}
		got, _, err := link.Parse(buf[:n])
		if err != nil || got.Kind != link.Here || n > len(encode(h)) {
			a.t.Fatalf("%+v of %d bytes, %v", got, n, err)
		}
		return got
	}
	a.t.Fatal("no answer")
	return link.Head{}
}

func TestWhere(t *testing.T) {
	c := newCluster(t, 2, Config{})
	a := ask(t, c.nodes[1])
	got := a.where(link.Head{Job: testKey, Channel: 3, From: 0, To: 1})
	s := c.jobs[1].Contexts()
	if len(s) != 1 || s[0].Channel != 3 || s[0].Rank != 1 || s[0].Owner.Pid != 0 {
		t.Fatalf("%+v", s)
	}
	want := link.Head{Kind: link.Here, Job: testKey, Channel: 3, From: 1, To: 0, Status: link.StatusHere, Port: s[0].Address.AddrPort().Port()}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if again := a.where(link.Head{Job: testKey, Channel: 3, From: 0, To: 1}); again != want {
		t.Errorf("then %+v", again)
	}
	c.jobs[1].Ended(1)
	if got := a.where(link.Head{Job: testKey, Channel: 3, From: 0, To: 1}); got != want {
		t.Errorf("of a dead rank, whose socket still says so: %+v", got)
	}
	if got := a.where(link.Head{Job: testKey, Channel: 4, From: 0, To: 1}); got.Status != link.StatusEnded {
		t.Errorf("a channel that a dead rank never had: %+v", got)
	}
	if err := c.jobs[1].Remove(0); err != nil {
		t.Fatal(err)
	}
	if got := a.where(link.Head{Job: testKey, Channel: 3, From: 0, To: 1}); got.Status != link.StatusEnded {
		t.Errorf("of a removed job: %+v", got)
	}
}

// TestSilence: a request without the key, or for what is not its sender's business, gets no answer.
func TestSilence(t *testing.T) {
	c := newCluster(t, 2, Config{})
	a := ask(t, c.nodes[1])
	good := link.Head{Kind: link.Where, Job: testKey, Channel: 1, From: 0, To: 1}
	wrong := map[string]func(h *link.Head){
		"key":     func(h *link.Head) { h.Job++ },
		"channel": func(h *link.Head) { h.Channel = MaxChannels },
		"to":      func(h *link.Head) { h.To = 0 },
		"nobody":  func(h *link.Head) { h.To = 2 },
		"own":     func(h *link.Head) { h.From = 1 },
		"foreign": func(h *link.Head) { h.From = 7 },
		"here":    func(h *link.Head) { h.Kind, h.Status, h.Port = link.Here, link.StatusHere, 5 },
		"end":     func(h *link.Head) { h.Kind, h.Status = link.End, link.EndDied },
		"ask":     func(h *link.Head) { h.Kind = link.Ask },
	}
	for _, change := range wrong {
		h := good
		change(&h)
		a.post(encode(h))
	}
	noise := encode(good)
	for i := range noise {
		bad := slices.Clone(noise)
		bad[i] ^= 1
		a.post(bad)
	}
	a.post(nil)
	a.post(noise[:20])
	a.post(make([]byte, 9000))
	// One socket's datagrams are answered in their order, so the first answer is the last
	// question's.
	good.Channel = 9
	if got := a.where(good); got.Channel != 9 {
		t.Errorf("%+v", got)
	}
	if s := c.jobs[1].Contexts(); len(s) != 1 {
		t.Errorf("%d contexts were made", len(s))
	}
}

// TestOtherHosts: questions must come from the node of the rank that asks.
func TestOtherHosts(t *testing.T) {
	c := newCluster(t, 2, Config{})
	needUDP(t, c.nodes[1])
	j := c.jobs[1]
	h := link.Head{Kind: link.Where, Job: testKey, Channel: 1, From: 0, To: 1}
	for text, may := range map[string]bool{"127.0.0.1:9": true, "127.0.0.2:9": false, "[::1]:9": false} {
		if got := j.mayAsk(address(text), &h); got != may {
			t.Errorf("%s may ask: %v", text, got)
		}
	}
}

// TestFlood: a flood of questions neither stops the directory nor what the loop does beside it.
func TestFlood(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	one.poll()
	stop, done := make(chan struct{}), make(chan struct{})
	a := ask(t, c.nodes[1])
	go func() {
		defer close(done)
		random := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			h := link.Head{Kind: link.Where, Job: testKey, Channel: random.Uint32() % 40, From: random.Uint32() % 3, To: random.Uint32() % 3}
			if random.Uint32()%2 == 0 {
				h.Job = random.Uint64()
			}
			_, _ = a.conn.Write(encode(h)) // the queue may be full
		}
	}()
	for range 200 {
		zero.send(1, "x")
		await.That(t, "it is acknowledged", zero.settled)
		one.receiveDriven()
	}
	ask(t, c.nodes[1]).where(link.Head{Job: testKey, Channel: 3, From: 0, To: 1})
	close(stop)
	<-done
	if n := len(c.jobs[1].Contexts()); n > MaxChannels {
		t.Errorf("%d contexts", n)
	}
}

// TestResident: the number of contexts is bounded; a request for one more is refused, and may be
// repeated. A job leaves others some.
func TestResident(t *testing.T) {
	c := newCluster(t, 2, Config{Resident: 4, Log: func(string, uint64, uint32, error) {}})
	a := ask(t, c.nodes[1])
	for channel := range uint32(4) {
		want := link.StatusHere
		if channel >= 2 {
			want = link.StatusNotYet // it has as many as are free
		}
		if got := a.where(link.Head{Job: testKey, Channel: channel, From: 0, To: 1}); got.Status != want {
			t.Errorf("context %d: %+v", channel, got)
		}
	}
	if _, err := c.jobs[1].Image(5, 1); !errors.Is(err, ErrResident) {
		t.Error(err)
	}
	jobs, _ := c.add(t, testKey+1)
	if _, err := jobs[1].Image(5, 1); err != nil {
		t.Errorf("another job: %v", err)
	}
	if _, err := jobs[1].Image(6, 1); !errors.Is(err, ErrResident) {
		t.Error(err)
	}
	if err := c.jobs[1].Remove(0); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs[1].Image(6, 1); err != nil {
		t.Error(err)
	}
}

// TestSharesOfContexts: what a job was given it gets, whatever others have made before it; what
// nobody has counted is shared.
func TestSharesOfContexts(t *testing.T) {
	const limit, given = 16, 4
	s := shares{max: limit}
	var greedy, modest, other share
	s.promise(&modest, given)
	taken := 0
	take := func(of *share, c claim) bool {
		_, ok := s.take(of, c)
		return ok
	}
	for take(&greedy, unreserved) {
		taken++
	}
	if want := (limit - given) / 2; taken != want {
		t.Errorf("a job makes %d contexts that it was not given, want %d", taken, want)
	}
	if !take(&other, unreserved) {
		t.Error("another job gets none")
	}
	for range given {
		if !take(&modest, reserved) {
			t.Error("a job does not get what it was given")
		}
	}
	s.undo(&modest, reserved)
	if !take(&modest, reserved) || modest.unmade != 0 || s.promised != 0 {
		t.Errorf("after one that could not be made: %+v of %+v", modest, &s)
	}
	// A rank that was started again makes contexts beyond those that its job was given.
	before := s.promised
	if c, ok := s.take(&modest, reserved); !ok || c != unreserved {
		t.Errorf("a context beyond what the job was given: %v, %v", c, ok)
	} else if s.undo(&modest, c); modest != (share{}) || s.promised != before {
		t.Errorf("after one that could not be made: %+v of %+v", modest, &s)
	}
	s.free(taken + 1 + given)
	if s.count() != 0 {
		t.Errorf("%d are left", s.count())
	}
	s.promise(&other, given)
	s.withdraw(&other)
	if s.promised != 0 {
		t.Errorf("%d are kept for a job that has left", s.promised)
	}
}

func TestAddRefuses(t *testing.T) {
	c := newCluster(t, 2, Config{})
	alone, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	for name, config := range map[string]JobConfig{
		"no key":      {Ranks: []uint32{0}},
		"no ranks":    {Key: 1},
		"gap":         {Key: 1, Ranks: []uint32{0, 2}},
		"twice":       {Key: 1, Ranks: []uint32{0, 0}},
		"other ranks": {Key: 1, Ranks: []uint32{1}, Places: c.where[0]},
		"elsewhere":   {Key: 1, Places: c.where[0]}, // the node has no directory
	} {
		if _, err := alone.Add(config); !errors.Is(err, ErrJob) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.nodes[0].Add(JobConfig{Key: testKey, Ranks: []uint32{0}}); !errors.Is(err, ErrJob) {
		t.Errorf("a key twice: %v", err)
	}
	huge := make([]uint32, abi.MaxLocal+1)
	for i := range huge {
		huge[i] = uint32(i)
	}
	if _, err := alone.Add(JobConfig{Key: 1, Ranks: huge}); !errors.Is(err, abi.ErrGeometry) {
		t.Errorf("too many ranks: %v", err)
	}
}

// TestOnlyHere: a job of one node has no sockets, and its ranks know that they are alone.
func TestOnlyHere(t *testing.T) {
	c := newCluster(t, 1, Config{})
	if got := mode(c.jobs[0]); got != "" {
		t.Error(got)
	}
	server, file, err := handover.Pair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := handover.Conn(file)
	if err != nil {
		t.Fatal(err)
	}
	client := handover.NewClient(conn)
	defer client.Close()
	if err := c.jobs[0].Serve(server, 0); err != nil {
		t.Fatal(err)
	}
	img, err := client.Image(1, handover.Own)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if _, _, err := client.Network(1); !errors.Is(err, handover.ErrAlone) {
		t.Error(err)
	}
	if _, err := client.Bulk(1); !errors.Is(err, handover.ErrAlone) {
		t.Error(err)
	}
	if got := mode(c.jobs[0]); got != ModeLocal {
		t.Error(got)
	}
}

// TestOneBulkSocket: however often a rank asks, its context has one socket for bulk datagrams, and
// none before; by TIPC it has none at all.
func TestOneBulkSocket(t *testing.T) {
	c := newCluster(t, 2, Config{})
	r := c.join(t, c.jobs, 0, 1)
	if os.Getenv(link.EnvTransport) == link.TIPC.String() {
		if _, err := r.conn.Bulk(1); !errors.Is(err, handover.ErrAlone) {
			t.Error(err)
		}
		return
	}
	before := processes.Descriptors()
	var sockets []os.FileInfo
	for range 3 {
		file, err := r.conn.Bulk(1)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, info)
		file.Close()
	}
	if !os.SameFile(sockets[0], sockets[1]) || !os.SameFile(sockets[0], sockets[2]) {
		t.Error("another socket")
	}
	if n := processes.Descriptors() - before; n != 1 {
		t.Errorf("%d descriptors more", n)
	}
}

func TestRemovedKeys(t *testing.T) {
	var k keys
	for key := uint64(1); key <= removedKeys+10; key++ {
		k.add(key)
	}
	if k.has(10) || !k.has(11) || !k.has(removedKeys+10) || len(k.known) != removedKeys {
		t.Errorf("%d keys", len(k.known))
	}
	k.drop(50)
	if k.has(50) {
		t.Error("a job that is back counts as removed")
	}
}

func address(text string) link.Address { return link.AddressOf(netip.MustParseAddrPort(text)) }
