// Package transcript reads recordings of the messages between libpmix clients and their server, for
// tests:
//
//	12.345ms handshake b'native\x00...'
//	12.456ms score_1.0 tag 101 -> REQ 2 bytes b'\x02\x00'
//	12.567ms score_1.0 tag 101 <- 2 bytes b'\x02\x00'
//
// Other lines are remarks. Older transcripts have neither tags nor answers.
package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a line.
type Kind string

// The kinds of lines.
const (
	Hello   Kind = "handshake" // what a client greets with
	Request Kind = "->"
	Reply   Kind = "<-"
)

// Line is one message, without its header.
type Line struct {
	Kind  Kind
	Where string // file and line
	At    time.Duration
	Rank  string // as namespace and number, empty for a hello
	Tag   uint32
	Data  []byte
}

// Transcript is one recording.
type Transcript struct {
	File  string
	Lines []Line
}

var lineForm = regexp.MustCompile(`^ *([\d.]+ms) (?:(\S+) )?(?:tag (\d+) )?(handshake|->|<-)(?: [A-Z]+)?(?: (\d+) bytes)? b(['"].*)$`)

// Read reads the transcripts that match a pattern of file names. It leaves out messages that were
// not recorded whole.
func Read(pattern string) ([]Transcript, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no transcripts %s: %w", pattern, err)
	}
	var all []Transcript
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t := Transcript{File: filepath.Base(file)}
		for i, line := range strings.Split(string(text), "\n") {
			if l, ok := parse(line); ok {
				l.Where = t.File + ":" + strconv.Itoa(i+1)
				t.Lines = append(t.Lines, l)
			}
		}
		all = append(all, t)
	}
	return all, nil
}

func parse(line string) (Line, bool) {
	found := lineForm.FindStringSubmatch(line)
	if found == nil {
		return Line{}, false
	}
	data, whole := literal(found[6])
	if size, err := strconv.Atoi(found[5]); err == nil && size != len(data) {
		whole = false
	}
	at, err := time.ParseDuration(found[1])
	if err != nil {
		return Line{}, false
	}
	tag, _ := strconv.ParseUint(found[3], 10, 32) // older transcripts have none
	return Line{Kind: Kind(found[4]), At: at, Rank: found[2], Tag: uint32(tag), Data: data}, whole
}

// literal reads a byte string as Python writes it. whole is false if it was cut off.
func literal(text string) (data []byte, whole bool) {
	quote := text[0]
	for text = text[1:]; text != "" && text[0] != quote; {
		if text[0] != '\\' {
			data, text = append(data, text[0]), text[1:]
			continue
		}
		if len(text) > 1 && (text[1] == '\'' || text[1] == '"') {
			data, text = append(data, text[1]), text[2:]
			continue
		}
		value, multibyte, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil || multibyte || value > 0xff {
			return nil, false
		}
		data, text = append(data, byte(value)), rest
	}
	return data, text != ""
}
