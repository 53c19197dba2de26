// Package filename is the file names that users give for input and output of ranks (-o out.%t):
// each stands for the files of several ranks, nodes or jobs.
//
//	pattern, err := filename.Parse("%x-%j.%3t")
//	name, err := pattern.Expand(filename.Values{Rank: 3, Node: "n1", Job: 7, JobName: "cfd"}) // cfd-7.003
package filename

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid means that a file name given to -o, -e or -i cannot be used.
var ErrInvalid = errors.New("invalid file name")

const (
	// maxPath is the longest path that Linux opens, PATH_MAX less its zero.
	maxPath = 4095
	// maxWidth is the widest padding, srun's own bound.
	maxWidth = 10

	signs   = "tNjxa%" // letters after a percent sign
	numbers = "tja"    // those of them that stand for numbers
)

// Pattern is a file name with %t for the rank, %N for the node, %j for the job's number, %x for its
// name, %a for its index in an array of jobs, and %% for a percent sign. %3t pads a number with
// zeros to three digits.
type Pattern struct {
	text             string
	perRank, perNode bool
}

// Values are the values of a Pattern's signs.
type Values struct {
	Rank    int
	Node    string
	Job     uint64
	JobName string
}

// Parse checks a file name. The error says which sign is wrong.
func Parse(text string) (Pattern, error) {
	switch {
	case text == "":
		return Pattern{}, fmt.Errorf("%w: it is empty", ErrInvalid)
	case len(text) > maxPath:
		return Pattern{}, fmt.Errorf("%w: it has %d characters, the most is %d", ErrInvalid, len(text), maxPath)
	case strings.IndexByte(text, 0) >= 0:
		return Pattern{}, fmt.Errorf("%w: it holds a NUL: %q", ErrInvalid, text)
	case strings.HasSuffix(text, "/"):
		return Pattern{}, fmt.Errorf("%w: %q is a directory; add a name such as out.%%t", ErrInvalid, text)
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
			return fmt.Errorf("%w: %%%s at its end stands for nothing; write %%%% for a percent sign", ErrInvalid, after)
		}
		letter := after[digits]
		if strings.IndexByte(signs, letter) < 0 {
			return fmt.Errorf("%w: %%%s is unknown; there are %%t (rank), %%N (node), %%j (job), %%x (job's name), %%a (index of --array) and %%%%",
				ErrInvalid, after[:min(digits+firstRune(after[digits:]), len(after))])
		}
		if width > maxWidth || digits > 0 && strings.IndexByte(numbers, letter) < 0 {
			return fmt.Errorf("%w: %%%s: only %%t, %%j and %%a take a width, of at most %d", ErrInvalid, after[:digits+1], maxWidth)
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

// String returns the pattern as it was given.
func (p Pattern) String() string { return p.text }

// Fits returns why the pattern cannot name files of a job of that name, or nil.
func (p Pattern) Fits(jobName string) error {
	_, err := p.Expand(Values{Node: "n", JobName: jobName})
	return err
}

// WithIndex returns the pattern with the job's index in its array put in for %a.
func (p Pattern) WithIndex(index uint32) Pattern {
	var text []byte
	_ = scan(p.text, func(plain string) { text = append(text, plain...) }, func(width int, letter byte) { // Parse has checked it
		switch {
		case letter == 'a':
			text = fmt.Appendf(text, "%0*d", width, index)
		case width > 0:
			text = fmt.Appendf(text, "%%%d%c", width, letter)
		default:
			text = append(text, '%', letter)
		}
	})
	p.text = string(text)
	return p
}

// Expand puts the values in. A pattern with %a has none before WithIndex.
func (p Pattern) Expand(v Values) (string, error) {
	var name []byte
	var unfit error
	part := func(what, text string) {
		if text == "" || strings.ContainsAny(text, "/\x00") {
			unfit = fmt.Errorf("%w: the %s's name %q cannot be part of one", ErrInvalid, what, text)
		}
		name = append(name, text...)
	}
	err := scan(p.text, func(text string) { name = append(name, text...) }, func(width int, letter byte) {
		switch letter {
		case 't':
			name = fmt.Appendf(name, "%0*d", width, v.Rank)
		case 'j':
			name = fmt.Appendf(name, "%0*d", width, v.Job)
		case 'N':
			part("node", v.Node)
		case 'x':
			part("job", v.JobName)
		case 'a':
			unfit = fmt.Errorf("%w: %s: %%a is the index of a job of --array, and there is no array", ErrInvalid, p.text)
		default:
			name = append(name, '%')
		}
	})
	if err := errors.Join(err, unfit); err != nil {
		return "", err
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("%w: %s becomes %d characters long, the most is %d", ErrInvalid, p.text, len(name), maxPath)
	}
	return string(name), nil
}
