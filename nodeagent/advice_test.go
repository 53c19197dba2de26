package nodeagent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Another address does not help an agent that may not open another file.
func TestListenAdvice(t *testing.T) {
	for failed, want := range map[unix.Errno]string{unix.EMFILE: "ulimit -Hn", unix.EADDRINUSE: "another address"} {
		err := fmt.Errorf("the UDP port: %w", os.NewSyscallError("eventfd", failed))
		if got := listenAdvice(err); !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}
