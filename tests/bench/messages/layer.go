package messages

import (
	"fmt"
	"os"
	"score/pm"
	"strconv"
	"strings"
	"time"
)

// Layer is one of the layers of the messaging stack, for two ranks to measure.
type Layer struct {
	Name      string // LayerPM and so on
	Windows   bool   // messages lie in memory that the node's processes map; layer tag only
	LaneBytes int    // of pm.EnvLaneBytes; negative: the default
}

// The layers, from below.
const (
	LayerPM  = "pm"
	LayerUCT = "uct"
	LayerTag = "tag"
	LayerOFI = "ofi"
)

// layerVariable has the layer of a rank, in the form of Layer.String.
const layerVariable = "SCORE_BENCH_LAYER"

const windowsSuffix = "+windows"

// String is what openLayer reads.
func (l Layer) String() string {
	if l.Windows {
		return l.Name + windowsSuffix
	}
	return l.Name
}

func (l Layer) environment() []string {
	env := []string{layerVariable + "=" + l.String()}
	if l.LaneBytes >= 0 {
		env = append(env, pm.EnvLaneBytes+"="+strconv.Itoa(l.LaneBytes))
	}
	return env
}

// end is a rank's end of a layer. There are two ranks; messages come in order.
type end interface {
	// alloc returns memory for messages.
	alloc(size int) ([]byte, error)
	// send begins to send; data stays as it is until sent.
	send(data []byte) error
	// receive begins to receive, or receives.
	receive(data []byte) error
	// sent and received make progress until what was begun has ended.
	sent() error
	received() error
	// close ends the use of the channel.
	close() error
}

func openLayer(name string, ch *pm.Channel) (end, error) {
	name, windows := strings.CutSuffix(name, windowsSuffix)
	switch name {
	case LayerPM:
		return &pmEnd{ch}, nil
	case LayerUCT:
		return newUCTEnd(ch)
	case LayerTag:
		return newTagEnd(ch, windows)
	case LayerOFI:
		return newOFIEnd(ch)
	default:
		return nil, fmt.Errorf("%w: layer %q", errPlan, name)
	}
}

const (
	// windowLength is how many operations of a stream are begun before one is waited for, as in
	// messages.c.
	windowLength = 64
	// bufferBytes is the memory of messages, and shortMessage what begins in a place of its own in
	// it.
	bufferBytes  = 4 << 20
	shortMessage = 64 << 10
)

// layerRank is one of the two ranks that measure a plan with a layer.
func layerRank(ch *pm.Channel) error {
	plan, err := parsePlan(os.Getenv(planVariable))
	if err != nil {
		return err
	}
	e, err := openLayer(os.Getenv(layerVariable), ch)
	if err != nil {
		return err
	}
	data, err := e.alloc(bufferBytes)
	if err != nil {
		return err
	}
	r := &layerMeasure{e: e, rank: ch.Rank(), data: data}
	if err := r.warm(); err != nil {
		return err
	}
	if err := measure(r.rank, plan, r.pingPong, r.stream); err != nil {
		return err
	}
	return e.close()
}

// layerMeasure measures with an end.
type layerMeasure struct {
	e    end
	rank int
	data []byte
}

// warm is ended by rank 0, which has the clock: the last message says so.
func (r *layerMeasure) warm() error {
	for start := time.Now(); ; {
		const more, last = 1, 0
		if r.rank == 0 {
			r.data[0] = more
			if time.Since(start) > warmUp {
				r.data[0] = last
			}
		}
		if err := r.pingPong(8, 1); err != nil || r.data[0] == last {
			return err
		}
	}
}

func (r *layerMeasure) pingPong(size, count int) error {
	data := r.data[:size]
	for range count {
		if r.rank == 0 {
			if err := r.put(data); err != nil {
				return err
			}
		}
		if err := r.e.receive(data); err != nil {
			return err
		}
		if err := r.e.received(); err != nil {
			return err
		}
		if r.rank == 1 {
			if err := r.put(data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *layerMeasure) put(data []byte) error {
	if err := r.e.send(data); err != nil {
		return err
	}
	return r.e.sent()
}

// stream goes from rank 0 to rank 1, which answers when it has all.
func (r *layerMeasure) stream(size, count int) error {
	for done := 0; done < count; {
		n := min(count-done, windowLength)
		for i := range n {
			if err := r.begin(r.buffer(i, size)); err != nil {
				return err
			}
		}
		if err := r.end(); err != nil {
			return err
		}
		done += n
	}
	if r.rank == 1 {
		return r.put(r.data[:0])
	}
	if err := r.e.receive(r.data[:0]); err != nil {
		return err
	}
	return r.e.received()
}

func (r *layerMeasure) begin(data []byte) error {
	if r.rank == 0 {
		return r.e.send(data)
	}
	return r.e.receive(data)
}

func (r *layerMeasure) end() error {
	if r.rank == 0 {
		return r.e.sent()
	}
	return r.e.received()
}

// buffer returns the buffer of operation i of a window: longer messages share buffers, as in
// messages.c.
func (r *layerMeasure) buffer(i, size int) []byte {
	stride := max(size, shortMessage)
	at := i % (len(r.data) / stride) * stride
	return r.data[at : at+size]
}
