// Scored is the cluster: its daemons (server, agent), a whole cluster on one machine (dev), and the
// commands for jobs and nodes.
//
// The commands are in packages cli (clients) and daemon (daemons). This package only combines them,
// in main.go. It is also the stewards' program, since an agent starts them from its own executable.
package main
