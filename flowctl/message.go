package flowctl

// Data is what the header of a data frame, or of an ask, says to the receiver.
type Data struct {
	Seq  Seq // number of the frame; of an ask: of the frame that is sent next
	Tx   Tx  // number of the transmission
	Mark Mark
}

// Mark is a set of requests that a frame carries.
type Mark uint8

// The marks.
const (
	// MarkAsk wants an answer at once.
	MarkAsk Mark = 1 << iota
	// MarkWant means that the sender is running out of credits.
	MarkWant
)

// Kind is the kind of an answer.
type Kind uint8

// The kinds. Their numbers are on the wire and in the image.
const (
	// Ack: all frames before Next are accepted, and Next may come.
	Ack Kind = iota
	// Full: Next was refused for want of room, and so is all that follows it
	// until Next has come again; the receiver tells when (Ready).
	Full
	// Gap: Next is missing, and what follows it was refused.
	Gap
	// Away: the receiver is not resident. Acknowledges nothing, since it may
	// come from an agent that has no image to look at.
	Away
	// Ready: there is room again for Next, which was refused.
	Ready
)

// Answer is what a receiver tells its sender, in a frame of its own or on the
// back of a data frame of the other direction. All kinds but Away acknowledge.
type Answer struct {
	Kind Kind
	Room uint16 // frames the receiver can take from Next on: a hint, or credits
	Next Seq    // all frames before it are accepted
	Echo Tx     // newest transmission that the receiver has seen
}

// Burst says what a sender may transmit now: Count frames, and if Count is 0
// and Ask is set, an ask, which is a header without payload.
type Burst struct {
	First Seq
	Count uint32 // frames First to First+Count-1
	Again uint32 // how many of them, the first, were sent before
	Tx    Tx     // transmission number of the first
	Ask   bool   // the last frame, or the ask, wants an answer at once
	Want  bool   // the last frame, or the ask, requests credits
}

// Empty reports whether there is nothing to transmit.
func (b Burst) Empty() bool { return b.Count == 0 && !b.Ask }

// Data returns the header of frame First+i, or with Count 0 and i 0 that of the
// ask.
func (b Burst) Data(i uint32) Data {
	d := Data{Seq: b.First + Seq(i), Tx: b.Tx + Tx(i)}
	if i+1 < b.Count {
		return d
	}
	if b.Ask {
		d.Mark |= MarkAsk
	}
	if b.Want {
		d.Mark |= MarkWant
	}
	return d
}

// Verdict says what a receiver does with a data frame.
type Verdict uint8

// The verdicts.
const (
	// Accept: the frame is the next in order and must be kept now.
	Accept Verdict = iota
	// Duplicate: it was accepted before; drop it.
	Duplicate
	// Refuse: drop it; its sender will send it again.
	Refuse
)
