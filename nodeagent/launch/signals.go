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

// cleanSignals makes children start with default signal dispositions. Go resets the signals that it
// handles, but signals that this process inherited as ignored (nohup, a shell's background job)
// stay ignored in children. signal.Notify makes such a signal a handled one; nobody reads the
// channel, so this process still ignores it.
func cleanSignals() error {
	ignored, err := ignoredSignals()
	if err != nil || len(ignored) == 0 {
		return err
	}
	signal.Notify(make(chan os.Signal, 1), ignored...)
	return nil
}

// goSignals is the largest number of a standard signal, which Go's runtime can handle.
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
