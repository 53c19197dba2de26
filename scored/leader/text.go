package leader

import (
	"score/scored/api/quote"
	"score/scored/api/texts"
	"strings"
	"unicode/utf8"
)

const (
	// maxText bounds each text of an agent about itself.
	maxText = 256
	// maxNotesOfNode bounds the number of its notes.
	maxNotesOfNode = 32
)

// clip shortens a text to the kept length, at a character's end, and escapes what is not UTF-8.
func clip(text string) string {
	if len(text) <= maxText {
		return texts.UTF8(text)
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return texts.UTF8(text[:end]) + "..."
}

// clippedNotes returns the kept part of an agent's notes.
func clippedNotes(notes []string) (kept []string) {
	for _, note := range notes[:min(len(notes), maxNotesOfNode)] {
		kept = append(kept, clip(note))
	}
	return kept
}

// oneSentence returns an agent's reason for the log and the user: one line of bounded length, with
// escapes for unprintable bytes.
func oneSentence(text string) string {
	return quote.Sentence(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; "))
}
