package stdio

import (
	"errors"
	"fmt"
	"strings"
)

// ErrPattern means that a file name given to -o, -e or -i cannot be used.
var ErrPattern = errors.New("invalid file name")

const (
	// maxPath is the longest path that Linux opens, PATH_MAX less its zero.
	maxPath = 4095
	// maxWidth is the widest padding, srun's own bound.
	maxWidth = 10
)

// Pattern is a file name with %t for the rank, %N for the node, %j for the job
// and %% for a percent sign. %3t pads a number with zeros to three digits.
type Pattern struct {
	text             string
	perRank, perNode bool
}

// Values are what the signs of a Pattern stand for.
type Values struct {
	Rank int
	Node string
	Job  uint64
}

// ParsePattern checks a file name. The error says which sign is wrong.
func ParsePattern(text string) (Pattern, error) {
	switch {
	case text == "":
		return Pattern{}, fmt.Errorf("%w: it is empty", ErrPattern)
	case len(text) > maxPath:
		return Pattern{}, fmt.Errorf("%w: it has %d characters, the most is %d", ErrPattern, len(text), maxPath)
	case strings.IndexByte(text, 0) >= 0:
		return Pattern{}, fmt.Errorf("%w: %q holds a zero byte", ErrPattern, text)
	case strings.HasSuffix(text, "/"):
		return Pattern{}, fmt.Errorf("%w: %q is a directory; add a name such as out.%%t", ErrPattern, text)
	}
	p := Pattern{text: text}
	err := scan(text, func(string) {}, func(_ int, letter byte) {
		p.perRank = p.perRank || letter == 't'
		p.perNode = p.perNode || letter == 'N'
	})
	if err != nil {
		return Pattern{}, err
	}
	return p, nil
}

// scan splits a pattern into plain text and signs.
func scan(text string, plain func(string), sign func(width int, letter byte)) error {
	for {
		before, after, found := strings.Cut(text, "%")
		plain(before)
		if !found {
			return nil
		}
		width, digits := 0, 0
		for digits < len(after) && after[digits] >= '0' && after[digits] <= '9' && width <= maxWidth {
			width = 10*width + int(after[digits]-'0')
			digits++
		}
		if digits == len(after) {
			return fmt.Errorf("%w: %%%s at its end stands for nothing; write %%%% for a percent sign", ErrPattern, after)
		}
		letter := after[digits]
		if letter != 't' && letter != 'N' && letter != 'j' && letter != '%' {
			return fmt.Errorf("%w: %%%s is unknown; there are %%t (rank), %%N (node), %%j (job) and %%%%",
				ErrPattern, after[:min(digits+firstRune(after[digits:]), len(after))])
		}
		if width > maxWidth || digits > 0 && (letter == 'N' || letter == '%') {
			return fmt.Errorf("%w: %%%s: only %%t and %%j take a width, of at most %d", ErrPattern, after[:digits+1], maxWidth)
		}
		sign(width, letter)
		text = after[digits+1:]
	}
}

func firstRune(s string) int {
	for i := range s {
		if i > 0 {
			return i
		}
	}
	return len(s)
}

// PerRank reports whether every rank gets a file of its own.
func (p Pattern) PerRank() bool { return p.perRank }

// PerNode reports whether every node gets a file of its own.
func (p Pattern) PerNode() bool { return p.perNode }

// String is the pattern as it was given.
func (p Pattern) String() string { return p.text }

// Expand puts the values in.
func (p Pattern) Expand(v Values) (string, error) {
	if p.perNode && (v.Node == "" || strings.ContainsAny(v.Node, "/\x00")) {
		return "", fmt.Errorf("%w: the node's name %q cannot be part of one", ErrPattern, v.Node)
	}
	var name []byte
	err := scan(p.text, func(text string) { name = append(name, text...) }, func(width int, letter byte) {
		switch letter {
		case 't':
			name = pad(name, uint64(v.Rank), width)
		case 'j':
			name = pad(name, v.Job, width)
		case 'N':
			name = append(name, v.Node...)
		default:
			name = append(name, '%')
		}
	})
	if err != nil {
		return "", err
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("%w: %s becomes %d characters long, the most is %d", ErrPattern, p.text, len(name), maxPath)
	}
	return string(name), nil
}
