package stdio

import (
	"bytes"
	"fmt"
	"strconv"
)

const (
	// MaxLine is the longest line that is kept together, in bytes: the size of a Linux pipe. Every
	// stream of every rank may hold that much.
	MaxLine = 64 << 10
	// maxPiece bounds the buffer for labelled lines: labels can multiply the
	// size of a chunk of empty lines.
	maxPiece = MaxLine
	// keepBytes is the buffer that a stream keeps when it is empty: enough for
	// usual lines, little enough for thousands of streams.
	keepBytes = 4 << 10
)

// Format is the format of a rank's output.
type Format struct {
	// Label puts the rank before every line, padded with zeros to the width
	// that the largest rank of Tasks needs, as srun does: "03: ".
	Label bool
	Tasks int
	// Unbuffered emits everything at once, even incomplete lines.
	Unbuffered bool
}

// Emit handles a piece of output, which must not be mixed with others. It must not keep the piece.
// Its error ends the calling Add or End.
type Emit func(piece []byte) error

// Lines cuts one stream of one rank into pieces that end at line ends. Without
// labels the pieces together are the stream, byte for byte.
//
// A line of more than MaxLine bytes is cut. Without labels the rest just follows; with labels each
// part is a line with a label. An unterminated last line stays as it is without labels, and gets a
// line end with labels.
type Lines struct {
	label  []byte // "3: ", empty without labels
	format Format
	held   []byte // an incomplete line
	open   bool   // unbuffered with labels: the last emitted byte was no line end
	piece  []byte // where labelled lines are put together
}

// NewLines returns the Lines of one stream of a rank.
func NewLines(rank int, format Format) *Lines {
	l := &Lines{format: format}
	if format.Label {
		l.label = label(rank, format.Tasks)
	}
	return l
}

func label(rank, tasks int) []byte {
	width := len(strconv.Itoa(max(tasks-1, 0)))
	return fmt.Appendf(nil, "%0*d: ", width, rank)
}

// Add adds the stream's next bytes and emits complete pieces. After an error the stream has lost
// bytes and should be dropped.
func (l *Lines) Add(chunk []byte, emit Emit) error {
	if l.format.Unbuffered {
		return l.emit(chunk, emit)
	}
	if l.format.Label {
		return l.addLabelled(chunk, emit)
	}
	return l.addPlain(chunk, emit)
}

// addPlain emits complete lines without copying them.
func (l *Lines) addPlain(chunk []byte, emit Emit) error {
	if len(l.held) > 0 {
		rest, err := l.complete(chunk, emit)
		if err != nil {
			return err
		}
		chunk = rest
	}
	if end := bytes.LastIndexByte(chunk, '\n') + 1; end > 0 {
		if err := emit(chunk[:end]); err != nil {
			return err
		}
		chunk = chunk[end:]
	}
	for len(chunk) >= MaxLine {
		if err := emit(chunk[:MaxLine]); err != nil {
			return err
		}
		chunk = chunk[MaxLine:]
	}
	l.held = append(l.held, chunk...)
	return nil
}

// complete extends the held line to its end or to MaxLine, and emits it if either is reached. It
// returns the rest of the chunk.
func (l *Lines) complete(chunk []byte, pass Emit) (rest []byte, err error) {
	end := bytes.IndexByte(chunk, '\n') + 1
	whole := end > 0
	if !whole {
		end = len(chunk)
	}
	if room := MaxLine - len(l.held); end >= room {
		end, whole = room, true
	}
	l.held = append(l.held, chunk[:end]...)
	if !whole {
		return nil, nil
	}
	err = pass(l.held)
	l.held = empty(l.held)
	return chunk[end:], err
}

// addLabelled emits lines in pieces of up to maxPiece.
func (l *Lines) addLabelled(chunk []byte, emit Emit) error {
	put := func(line []byte) error { return l.put(line, emit) }
	for len(chunk) > 0 {
		rest, err := l.complete(chunk, put)
		if err != nil {
			return err
		}
		chunk = rest
	}
	return l.flush(emit)
}

// put adds one labelled line to the piece.
func (l *Lines) put(line []byte, emit Emit) error {
	if len(l.piece)+len(l.label)+len(line)+1 > maxPiece {
		if err := l.flush(emit); err != nil {
			return err
		}
	}
	l.piece = append(append(l.piece, l.label...), line...)
	if line[len(line)-1] != '\n' {
		l.piece = append(l.piece, '\n')
	}
	return nil
}

func (l *Lines) flush(emit Emit) error {
	if len(l.piece) == 0 {
		return nil
	}
	err := emit(l.piece)
	l.piece = empty(l.piece)
	return err
}

// empty keeps a small buffer and drops a large one.
func empty(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}

// emit emits unbuffered output with labels where lines begin.
func (l *Lines) emit(chunk []byte, emit Emit) error {
	if len(chunk) == 0 {
		return nil
	}
	if !l.format.Label {
		return emit(chunk)
	}
	for line := range bytes.Lines(chunk) {
		if len(l.piece)+len(l.label)+len(line) > maxPiece {
			if err := l.flush(emit); err != nil {
				return err
			}
		}
		if !l.open {
			l.piece = append(l.piece, l.label...)
		}
		l.piece = append(l.piece, line...)
		l.open = line[len(line)-1] != '\n'
	}
	return l.flush(emit)
}

// End emits a held unterminated line.
func (l *Lines) End(emit Emit) error {
	if l.open {
		l.open = false
		return emit([]byte{'\n'})
	}
	if len(l.held) == 0 {
		return nil
	}
	defer func() { l.held = nil }()
	if !l.format.Label {
		return emit(l.held)
	}
	if err := l.put(l.held, emit); err != nil {
		return err
	}
	return l.flush(emit)
}
