package flowctl

import "testing"

// BenchmarkSender is one frame queued and sent, with an answer to each 16th.
func BenchmarkSender(b *testing.B) {
	c := DefaultConfig()
	var s Sender
	now := epoch
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += 100
		s.Queue(1)
		s.Send(&c, now, 1)
		if i%DefaultAckEvery == DefaultAckEvery-1 {
			s.OnAnswer(&c, now, Answer{Next: s.nxt, Echo: s.tx, Room: windowAll})
		}
	}
	if s.Unacked() >= DefaultAckEvery {
		b.Fatalf("the sender stood still: %+v", s.Status())
	}
}

// BenchmarkSenderBurst is the same with 16 frames sent at a time.
func BenchmarkSenderBurst(b *testing.B) {
	c := DefaultConfig()
	var s Sender
	now := epoch
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%DefaultAckEvery != 0 {
			continue
		}
		now += 100
		s.Queue(DefaultAckEvery)
		s.Send(&c, now, DefaultAckEvery)
		s.OnAnswer(&c, now, Answer{Next: s.nxt, Echo: s.tx, Room: windowAll})
	}
}

// BenchmarkReceiver is one frame accepted in order, with an answer to each 16th.
func BenchmarkReceiver(b *testing.B) {
	c := DefaultConfig()
	var r Receiver
	now := epoch
	b.ReportAllocs()
	for i := uint32(0); b.Loop(); i++ {
		now += 100
		if r.OnData(&c, now, Data{Seq: Seq(i), Tx: Tx(i + 1)}, windowAll) != Accept {
			b.Fatal("not accepted")
		}
		if r.Due() {
			r.Answer(&c, windowAll)
		}
	}
}

// BenchmarkPingPong is one frame there, answered on the back of one from there.
func BenchmarkPingPong(b *testing.B) {
	c := DefaultConfig()
	var s, t Sender
	var r, q Receiver
	now := epoch
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		s.Queue(1)
		there := s.Send(&c, now, 1)
		r.OnData(&c, now, there.Data(0), windowAll)
		t.Queue(1)
		back := t.Send(&c, now, 1)
		s.OnAnswer(&c, now, r.Answer(&c, windowAll))
		q.OnData(&c, now, back.Data(0), windowAll)
		t.OnAnswer(&c, now, q.Answer(&c, windowAll))
	}
	if s.Acked() != s.End() {
		b.Fatal("not answered")
	}
}
