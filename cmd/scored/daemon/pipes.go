package daemon

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// outliveReaders keeps a daemon running when nobody reads its standard output or error any more.
// What it writes there is lost. Otherwise such a write would end a Go program (os/signal,
// "SIGPIPE") before it has ended its jobs and removed its files. The signal is caught, not ignored,
// because children inherit ignored signals.
func outliveReaders(*cobra.Command, []string) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
}
