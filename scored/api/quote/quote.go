// Package quote puts users' texts into sentences, so that no sentence is longer than a terminal's
// screen, and none changes the terminal on which it is read.
//
//	fmt.Errorf("there is no node %s", quote.Word(name))
package quote

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxWord is how many bytes of one word are shown: a path of the usual length, or a line on a
	// wide terminal.
	maxWord = 120
	// maxSentence is how many bytes of a sentence are shown: it may name some words.
	maxSentence = 2000
	// cut replaces what is left out.
	cut = "..."
)

// Word returns a word as it is if any terminal can show it, else in quotes, with escapes. It cuts a
// word that is longer than a line.
func Word(text string) string {
	shown := clip(text, maxWord)
	if text == "" || strings.ContainsAny(text, " \"'`") || !readable(text) {
		return strconv.Quote(shown)
	}
	return shown
}

// Sentence makes a whole sentence safe, whatever was put into it: it escapes unprintable bytes, and
// cuts the middle out of a very long one.
func Sentence(text string) string {
	if len(text) > maxSentence {
		text = clip(text, maxSentence/2) + " " + tail(text, maxSentence/2)
	}
	return escaped(text)
}

// Text returns a user's text for a table or list: all of it, with escapes for unprintable bytes.
func Text(text string) string { return escaped(text) }

// JSON returns an encoded JSON text with escapes for the unprintable letters that JSON allows in
// strings: those beyond ASCII, some of which are escape sequences, and DEL. Its meaning is the same.
func JSON(encoded []byte) []byte {
	if bytes.IndexFunc(encoded, unprintableInJSON) < 0 {
		return encoded
	}
	var out []byte
	for _, r := range string(encoded) {
		switch {
		case !unprintableInJSON(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func unprintableInJSON(r rune) bool { return r >= 0x7f && !strconv.IsPrint(r) }

func escaped(text string) string {
	if readable(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0])|0x100, 16)[1:])
		case strconv.IsPrint(r):
			b.WriteString(text[:size])
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

func readable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// clip returns the beginning of a text, cut between letters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}

// tail returns the end of a text, cut between letters.
func tail(text string, limit int) string {
	begin := len(text) - limit
	for begin < len(text)-limit+utf8.UTFMax && !utf8.RuneStart(text[begin]) {
		begin++
	}
	return text[begin:]
}
