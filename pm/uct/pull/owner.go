package pull

// Owner sends one piece of a transfer, frame by frame, from memory that stays as it is. It keeps
// nothing of what it has sent: what is lost its reader asks for again.
//
//	at <= next <= at + n <= length of the transfer
type Owner struct {
	at, n uint64 // what was asked for
	next  uint64 // what follows was not sent yet
}

// Serve begins with a piece of n bytes from at on, of a transfer that has length bytes. It is false
// if the piece is not within the transfer; then nothing of it may be sent.
func Serve(length, at, n uint64) (Owner, bool) {
	return Owner{at: at, n: n, next: at}, at <= length && n <= length-at
}

// Piece is what was asked for.
func (o *Owner) Piece() (at, n uint64) { return o.at, o.n }

// Next returns the next frame, of at most limit bytes; none once all were sent.
func (o *Owner) Next(limit uint64) (at, n uint64, ok bool) {
	n = min(o.at+o.n-o.next, limit)
	return o.next, n, n > 0
}

// Passed records that n bytes were sent, all of the frame that Next returned.
func (o *Owner) Passed(n uint64) { o.next += n }

// Done reports whether all of the piece was sent.
func (o *Owner) Done() bool { return o.next == o.at+o.n }
