package daemon

import (
	"context"
	"score/cmd/scored/config"
	"score/cmd/scored/service"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// reloader reads the configuration again while a daemon runs, and applies what can change then: the
// log level. The cluster's settings are not in the file ('scored config set'), and daemons find
// renewed certificates by themselves.
type reloader struct {
	path    string // from the command line
	section string // of the daemon
	used    config.Config
	level   zap.AtomicLevel
	logger  *zap.Logger
	status  string
}

// newReloader returns a reloader. c is what the daemon runs with. The file can differ from it,
// because flags overrule it and joining writes it; the reloader compares later versions with the
// file.
func newReloader(path, section string, c config.Config, level zap.AtomicLevel, logger *zap.Logger) *reloader {
	r := &reloader{path: path, section: section, used: c, level: level, logger: logger}
	if file, err := loadConfig(path); err == nil {
		r.used = file
	}
	return r
}

// run reloads on each order until ctx ends.
func (r *reloader) run(ctx context.Context, orders <-chan struct{}) {
	for {
		select {
		case <-orders:
			service.Reloading()
			service.Ready(r.reload())
		case <-ctx.Done():
			return
		}
	}
}

// reload applies the configuration and returns the daemon's status.
func (r *reloader) reload() (status string) {
	next, err := loadConfig(r.path)
	if err != nil {
		r.logger.Error("the configuration is not read again, and what was read before holds", zap.Error(err))
		return r.status + "; the configuration has an error: " + err.Error()
	}
	waiting := slices.DeleteFunc(config.Changes(r.used, next), func(key string) bool {
		section, _, _ := strings.Cut(key, ".")
		return section != "cluster" && section != r.section
	})
	if level, err := zapcore.ParseLevel(next.Log.Level); err == nil { // it was checked
		r.level.SetLevel(level)
	}
	r.used.Log = next.Log
	r.logger.Info("the configuration was read again", zap.String("log_level", next.Log.Level))
	if len(waiting) == 0 {
		return r.status
	}
	r.logger.Warn("changes that count only when this daemon is restarted", zap.Strings("keys", waiting))
	return r.status + "; a restart is needed for " + strings.Join(waiting, ", ")
}
