package uct

// copied is how many of four frames their owner copies into the socket. The others stay in its
// memory until they are taken. Copies by the owner help if the reader is the slower end.
type copied uint8

const (
	// mostCopied is the most that an owner copies: then both ends take about as long, since a frame
	// that the owner did not copy takes its reader twice as long.
	mostCopied copied = 2
	// behind is a number of frames, of the longest. If so many wait after a turn that began with an
	// empty socket, the reader is the slower end: they came meanwhile.
	behind = 4
)

// of reports whether the frame at the place is among them.
func (c copied) of(at uint64) bool { return c > [4]copied{0, 2, 1, 3}[at>>16&3] }

// turn takes note of a turn of n frames, after which so many bytes wait.
func (b *bulk) turn(n, waiting int) {
	if b.taken += n; waiting >= behind<<16 && b.copied < mostCopied {
		b.copied++
		b.vain, b.taken = 0, 0
	}
}

// weigh returns what owners are asked for: to copy less if the reader waits for frames.
func (b *bulk) weigh() copied {
	if b.taken < bulkPerTurn {
		return b.copied
	}
	if b.vain > b.taken && b.copied > 0 {
		b.copied--
	}
	b.vain, b.taken = 0, 0
	return b.copied
}
