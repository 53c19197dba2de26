package launch

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// cleanSignals makes sure that children start with default dispositions. Go
// resets the signals that it handles; those that this process inherited as
// ignored (nohup, a shell's background job) stay ignored in children. Asking
// for such a signal makes it a handled one; nobody reads the channel, so here
// the signal still does nothing.
func cleanSignals() error {
	ignored, err := ignoredSignals()
	if err != nil || len(ignored) == 0 {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), ignored...)
	return nil
}

// goSignals is the number of the last signal that Go's runtime can handle and
// that means something to a program.
const goSignals = 31

func ignoredSignals() ([]os.Signal, error) {
	f, err := os.Open("/proc/thread-self/status")
	if err != nil {
		return nil, fmt.Errorf("reading signal dispositions: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "SigIgn:")
		if !ok {
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("reading signal dispositions: %w", err)
		}
		var ignored []os.Signal
		for sig := 1; sig <= goSignals; sig++ {
			if mask&(1<<(sig-1)) != 0 {
				ignored = append(ignored, syscall.Signal(sig))
			}
		}
		return ignored, nil
	}
	return nil, fmt.Errorf("reading signal dispositions: no SigIgn in %s", f.Name())
}
