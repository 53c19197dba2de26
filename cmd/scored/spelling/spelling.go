// Package spelling finds the word that somebody has meant.
package spelling

import "strings"

// far is how many letters may be wrong: more, and any short word is near any other.
const far = 2

// Nearest is the word that is least edits (letters put in, left out or changed) away from the one
// that was written, or "" if none is near. A word that begins with what was written is near, too.
func Nearest(written string, words []string) string {
	nearest, least := "", far+1
	for _, word := range words {
		switch d := distance(written, word); {
		case d < least && d < len(word):
			nearest, least = word, d
		case nearest == "" && written != "" && strings.HasPrefix(word, written):
			nearest = word
		}
	}
	return nearest
}

// Hint is the end of a sentence that refuses what was written: "; did you mean NEAREST?", or "".
func Hint(written string, words []string) string {
	if nearest := Nearest(written, words); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}

// distance is Levenshtein's, by one row of the table. What is longer than a word can be is far from
// all.
func distance(a, b string) int {
	if len(a) > len(b)+far {
		return far + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // of the row before, one to the left
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
