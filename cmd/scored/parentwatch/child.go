package parentwatch

import (
	"io"
	"net"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	wordReady  = "ready"
	wordFailed = "failed"
)

// Line is the child's end of the connection to its parent.
type Line struct {
	conn *net.UnixConn
	gone chan struct{}
}

// Inherited returns the end that the parent left in this process. It returns an error in a process
// that was not started by Start.
func Inherited() (*Line, error) {
	// Programs that this process starts must not keep the line open.
	unix.CloseOnExec(descriptor)
	conn, err := connOf(descriptor)
	if err != nil {
		return nil, err
	}
	line := &Line{conn: conn, gone: make(chan struct{})}
	go line.watch()
	return line, nil
}

// watch waits until the parent's end closes, or Close is called.
func (l *Line) watch() {
	_, _ = io.Copy(io.Discard, l.conn) // an error is the end, too
	close(l.gone)
}

// Ready reports to the parent that the child is ready, with a text that the parent gets from
// ReadyText.
func (l *Line) Ready(text string) { l.send(wordReady, text) }

// Failed reports to the parent, in a sentence, why the child could not start.
func (l *Line) Failed(sentence string) { l.send(wordFailed, sentence) }

// send sends a word and a text. It returns no error: if the parent cannot be reached, Gone reports
// its end.
func (l *Line) send(word, text string) {
	text = strings.Join(strings.Fields(text), " ")
	if limit := maxLine - len(word) - 2; len(text) > limit {
		text = text[:limit]
	}
	_, _ = io.WriteString(l.conn, word+" "+text+"\n")
}

// Gone returns a channel that is closed when the parent has closed its end or has ended.
func (l *Line) Gone() <-chan struct{} { return l.gone }

// Close closes the line and waits for its watcher.
func (l *Line) Close() {
	_ = l.conn.Close() // nobody can make use of an error
	<-l.gone
}
