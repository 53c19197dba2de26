package socket

import "bytes"

const (
	// clientPreface is what an HTTP/2 connection begins with (RFC 9113, section 3.4).
	clientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// frameHead is the length of a frame's head, and frameData the type of a DATA frame (sections
	// 4.1 and 6.1).
	frameHead = 9
	frameData = 0
)

// controlFrames follows what a client sends on an HTTP/2 connection, to count the bytes of frames
// that no flow control bounds. Of another protocol, every byte counts.
type controlFrames struct {
	preface int // bytes of the preface that have come
	other   bool

	head [frameHead]byte // of the next frame
	have int             // bytes of head that have come
	left int             // bytes of the present frame that have not come
	data bool            // the present frame is one of DATA, and not empty
}

// count returns how many of the next bytes belong to control frames.
func (c *controlFrames) count(next []byte) (control int) {
	for len(next) > 0 {
		var n int
		switch {
		case c.other:
			return control + len(next)
		case c.preface < len(clientPreface):
			n = min(len(clientPreface)-c.preface, len(next))
			c.other = !bytes.Equal(next[:n], []byte(clientPreface)[c.preface:c.preface+n])
			c.preface += n
			control += n
		case c.left > 0:
			n = min(c.left, len(next))
			c.left -= n
			if !c.data {
				control += n
			}
		default:
			n = copy(c.head[c.have:], next)
			control += c.beginFrame(n)
		}
		next = next[n:]
	}
	return control
}

// beginFrame takes n more bytes of a frame's head, and returns how many bytes count once it is
// whole.
func (c *controlFrames) beginFrame(n int) (control int) {
	if c.have += n; c.have < frameHead {
		return 0
	}
	c.have = 0
	c.left = int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
	c.data = c.head[3] == frameData && c.left > 0
	if c.data {
		return 0
	}
	return frameHead
}
