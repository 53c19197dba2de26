package daemon

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// outliveReaders lets a daemon go on, and later end in order, when nobody reads its standard
// output or error any more: what it says is lost. A Go program dies of such a write otherwise
// (os/signal, "SIGPIPE"), before it has ended its jobs and removed what it made. The signal is
// caught, not ignored: programs inherit what is ignored.
func outliveReaders(*cobra.Command, []string) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
}
