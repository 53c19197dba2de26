package service

import (
	"fmt"
	"sync"

	"github.com/coreos/go-systemd/v22/journal"
)

// InJournal reports whether standard error is a stream to systemd's journal, which adds the time of
// each line by itself and reads its priority from a prefix.
var InJournal = sync.OnceValue(func() bool {
	in, err := journal.StderrIsJournalStream()
	return err == nil && in
})

// Prefix returns the prefix that gives a line its priority in the journal (sd-daemon(3)).
func Prefix(priority journal.Priority) string { return fmt.Sprintf("<%d>", int(priority)) }

// ErrorPrefix returns the prefix of a line on standard error that says why this process failed.
func ErrorPrefix() string {
	if !InJournal() {
		return ""
	}
	return Prefix(journal.PriErr)
}
