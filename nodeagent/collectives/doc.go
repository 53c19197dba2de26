// Package collectives connects a job's part on this node with its parts on other nodes: it
// transports the messages of collectives (package fence has the algorithms) and spreads failures
// (package gossip). Read group.go first.
package collectives
