// Package service connects a daemon with its service manager. It handles the signals that end the
// daemon or make it read its configuration again, and reports the daemon's state by sd_notify(3):
// it serves, reads its configuration, is alive, or stops. Life reports stopping by itself.
//
//	life := service.Begin(ctx, nodeagent.ErrLeave)
//	defer life.End()
//	...
//	service.Ready("node n1")         // connections are answered from here on
//	life.Go(func() { service.Watch(life.Context(), logger, agent.Alive) })
//	for range life.Reloads() { ... } // after service.Reloading, before service.Ready
//
// InJournal reports whether lines of the log go to the manager's journal, which adds the time and
// reads priorities.
//
// Without a service manager, that is, without NOTIFY_SOCKET in the environment, the package reports
// nothing.
package service
