package api

import (
	"path"
	"score/scored/api/quote"
	"unicode/utf8"
)

// MaxJobName is the longest name of a job in bytes: as long as that of a file.
const MaxJobName = 255

// JobName returns the default name of a job: that of its program, with escapes for unprintable
// bytes, since names of jobs are texts for people.
func JobName(program string) string {
	name := quote.Text(path.Base(program))
	if len(name) <= MaxJobName {
		return name
	}
	end := MaxJobName
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}
