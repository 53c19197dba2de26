package pull

import "time"

// Config holds the numbers of a reader.
type Config struct {
	// Window bounds the bytes that were asked for and have not come: what the reader's socket
	// holds. MinWindow is the smallest window that losses leave: some frames.
	Window, MinWindow int
	// Piece is how many bytes are asked for at once, unless a transfer has fewer.
	Piece int
	// Grace is how long frames may still come after the last one of their piece, and after how long
	// without a frame its owner is probed: the initial and the shortest value. MaxGrace is the
	// longest.
	Grace, MaxGrace time.Duration
	// Stall is the time without a frame after which the bytes of a piece leave the window, since
	// its owner computes, and others need not wait for it; and after which an owner that has sent
	// no frame is probed.
	Stall time.Duration
}

const (
	// MaxPieces bounds the pieces of one pull that are under way: enough for a pipeline, and what
	// an owner must keep for each pull.
	MaxPieces = 8
	// maxSpans bounds the runs of bytes of a piece that came with holes between them. A frame that
	// would make one more is as lost.
	maxSpans = 16
	// lossCut is the divisor of a loss: lost frames take a quarter of the window, as in package
	// flowctl.
	lossCut = 4
	// growth is the divisor of a gain: a window of bytes without loss adds an eighth, as in package
	// flowctl.
	growth = 8
	// maxPiece is 18 frames of 15 pages: a request and its answer cost as much as a frame, a MiB
	// goes in one piece, and only the last piece ends with a short frame.
	maxPiece = 18 * 61_440
	// windowPieces is how many pieces fit the window: while one comes the next is asked for. With
	// more, bytes leave the cache between the kernel's two copies.
	windowPieces = 2
	// minPiece is the shortest piece that is worth a request, also for a socket that holds nearly
	// nothing.
	minPiece = 4 << 10
)

// DefaultConfig is the configuration for the smallest socket and the longest frames.
func DefaultConfig() Config {
	return Config{
		Window: 6 << 16, MinWindow: 2 << 16, Piece: 6 << 14,
		Grace: 200 * time.Microsecond, MaxGrace: 20 * time.Millisecond, Stall: 2 * time.Millisecond,
	}
}

// ConfigFor returns the configuration for a socket that holds room bytes of datagrams. An eighth
// stays unused, since the kernel also counts its own overhead.
func ConfigFor(room int) Config {
	c := DefaultConfig()
	c.Window = min(room/8*7, windowPieces*maxPiece)
	c.MinWindow = min(c.MinWindow, c.Window)
	c.Piece = max(c.Window/windowPieces, c.MinWindow/2, minPiece)
	return c
}
