// Package service is a daemon's side of the service manager: the signals that end it or make it
// read its configuration again, and the states that it reports by sd_notify(3): it serves, reads
// its configuration, is alive, stops (which Life reports by itself).
//
//	life := service.Begin(ctx, nodeagent.ErrLeave)
//	defer life.End()
//	...
//	service.Ready("node n1")         // connections are answered from here on
//	life.Go(func() { service.Watch(life.Context(), logger, agent.Alive) })
//	for range life.Reloads() { ... } // after service.Reloading, before service.Ready
//
// InJournal reports whether lines of the log go to the manager's journal, which knows their time and
// takes priorities.
//
// Without a service manager, that is, without NOTIFY_SOCKET in the environment, nothing is
// reported.
package service
