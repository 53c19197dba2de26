package pull

import "time"

// Config holds the numbers of a reader.
type Config struct {
	// Window is how many bytes may be asked for that have not come, at most: what the reader's socket
	// holds. Least is what losses leave of it: some frames.
	Window, Least int
	// Piece is how many bytes are asked for at once, unless a transfer has fewer.
	Piece int
	// Grace is how long frames may come after the word that their piece was sent, before a round trip
	// was measured, and at least; GraceMost bounds it.
	Grace, GraceMost time.Duration
	// Stall is after how long without a frame the bytes of a piece leave the window: its owner
	// computes, and others need not wait for it.
	Stall time.Duration
}

const (
	// MaxPieces bounds the pieces of one pull that are under way: enough for a pipeline, and what an
	// owner must keep for each pull.
	MaxPieces = 8
	// maxSpans bounds the runs of bytes of a piece that came with holes between them. A frame that
	// would make one more is as lost.
	maxSpans = 16
	// lossCut: lost frames take a quarter of the window, as in package flowctl.
	lossCut = 4
	// growth: a window of bytes that came whole adds an eighth, as in package flowctl.
	growth = 8
	// pieceMost is 17 of the longest frames: a question and its answer cost as much as a frame, a MiB
	// goes in one, and no piece but the last ends with a short frame.
	pieceMost = 17 * 65_424
	// windowPieces is how many pieces a window has: while one comes the next is asked for. With more,
	// the bytes between the kernel's two copies leave the cache.
	windowPieces = 2
	// leastPiece is what a question is worth, also of a socket that holds nearly nothing.
	leastPiece = 4 << 10
)

// DefaultConfig is for the least socket and the longest frames.
func DefaultConfig() Config {
	return Config{
		Window: 6 << 16, Least: 2 << 16, Piece: 6 << 14,
		Grace: 200 * time.Microsecond, GraceMost: 20 * time.Millisecond, Stall: 2 * time.Millisecond,
	}
}

// ConfigFor is for a socket that holds so many bytes of datagrams. An eighth is left over: the kernel
// counts some more than the bytes.
func ConfigFor(room int) Config {
	c := DefaultConfig()
	c.Window = min(room/8*7, windowPieces*pieceMost)
	c.Least = min(c.Least, c.Window)
	c.Piece = max(c.Window/windowPieces, c.Least/2, leastPiece)
	return c
}
