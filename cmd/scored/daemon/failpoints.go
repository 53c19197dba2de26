package daemon

import (
	"score/scored/failpoint"

	"go.uber.org/zap"
)

// serverFailpoints is what lists of failpoints call a server.
const serverFailpoints = "server"

// failpoints sets those that the environment names for the daemon.
func failpoints(daemon string, logger *zap.Logger) (stop func(), err error) {
	return failpoint.FromEnvironment(daemon, func(err error) {
		logger.Error("no failpoint is set any more", zap.Error(err))
	})
}
