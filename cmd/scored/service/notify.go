package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Ready reports that the daemon serves; status is a short text for the manager to show.
func Ready(status string) { notify(daemon.SdNotifyReady, statusOf(status)) }

// Reloading reports that the configuration is being read again; Ready must follow.
func Reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return // without the time the manager cannot distinguish two reloads
	}
	notify(daemon.SdNotifyReloading, fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/int64(time.Microsecond/time.Nanosecond)))
}

// stopping reports that the daemon has begun to end.
func stopping() { notify(daemon.SdNotifyStopping) }

// statusOf returns the status in one line, since the protocol has one variable per line.
func statusOf(status string) string {
	return "STATUS=" + strings.Join(strings.Fields(status), " ")
}

// notify sends variables to the service manager, if there is one. It ignores errors: a manager that
// does not receive them applies its own timeouts.
func notify(lines ...string) {
	_, _ = daemon.SdNotify(false, strings.Join(lines, "\n"))
}

// Watch sends keep-alive messages to the manager's watchdog at the requested interval while alive
// returns no error. It returns when ctx has ended, or at once without a watchdog.
func Watch(ctx context.Context, logger *zap.Logger, alive func(context.Context) error) {
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		logger.Warn("the service manager's watchdog is not told anything", zap.Error(err))
	}
	if err != nil || patience == 0 {
		return
	}
	// Send two in the time that the manager waits, as sd_watchdog_enabled(3) recommends.
	ticker := time.NewTicker(patience / 2)
	defer ticker.Stop()
	for {
		if err := within(ctx, patience/2, alive); err == nil {
			notify(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			logger.Error("this daemon does not do its work; the service manager will end it unless it recovers", zap.Error(err))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// errSlow means that a part of the daemon did not answer in time.
var errSlow = errors.New("no answer in time")

func within(ctx context.Context, bound time.Duration, alive func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, errSlow)
	defer cancel()
	return alive(ctx)
}
