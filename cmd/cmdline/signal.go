package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ParseSignal reads a signal: a number, or a name with or without SIG.
func ParseSignal(text string) (int32, error) {
	if number, err := strconv.Atoi(text); err == nil {
		if unix.SignalName(unix.Signal(number)) == "" {
			return 0, fmt.Errorf("there is no signal %d", number)
		}
		return int32(number), nil
	}
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	number := unix.SignalNum(name)
	if number == 0 {
		return 0, fmt.Errorf("there is no signal %q: give a name (USR1) or a number", text)
	}
	return int32(number), nil
}

// Warning is a signal before the end of a job.
type Warning struct {
	Signal int32 // 0: none
	Before time.Duration
}

const (
	// usualWarning is how long before the end a signal comes if no time is given, as in Slurm.
	usualWarning = time.Minute
	// maxWarning is the longest such time, as in Slurm.
	maxWarning = 65535
)

// ParseWarning reads SIGNAL or SIGNAL@SECONDS, as srun --signal does.
func ParseWarning(text string) (Warning, error) {
	signal, seconds, timed := strings.Cut(text, "@")
	number, err := ParseSignal(signal)
	if err != nil || !timed {
		return Warning{number, usualWarning}, err
	}
	n, err := strconv.ParseUint(seconds, 10, 64)
	if err != nil || n > maxWarning {
		return Warning{}, errors.New("give the seconds before the end as a whole number, at most 65535: USR1@60")
	}
	return Warning{number, time.Duration(n) * time.Second}, nil
}
