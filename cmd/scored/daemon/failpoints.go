package daemon

import (
	"score/scored/failpoint"

	"go.uber.org/zap"
)

// serverFailpoints names a server in lists of failpoints.
const serverFailpoints = "server"

// failpoints sets the failpoints that the environment lists for the daemon.
func failpoints(daemon string, logger *zap.Logger) (stop func(), err error) {
	return failpoint.FromEnvironment(daemon, func(err error) {
		logger.Error("no failpoint is set any more", zap.Error(err))
	})
}
