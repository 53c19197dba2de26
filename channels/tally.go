package channels

import "score/channels/abi"

// Tally is what a rank counts for itself and shows now and then.
type Tally struct {
	Sent, SentBytes uint64
	Refused         uint64
	Sleeps, Wakes   uint64
	shown           uint64
}

// Shown is the number of sent messages as last shown.
func (t *Tally) Shown() uint64 { return t.shown }

// Show publishes the counts in the image.
func (img *Image) Show(t *Tally) {
	t.shown = t.Sent
	release64(img.counter(abi.Sent), t.Sent)
	release64(img.counter(abi.SentBytes), t.SentBytes)
	release64(img.counter(abi.Refused), t.Refused)
	release64(img.counter(abi.Sleeps), t.Sleeps)
	release64(img.counter(abi.Wakes), t.Wakes)
}
