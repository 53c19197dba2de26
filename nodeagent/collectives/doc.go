// Package collectives joins a job's part on this node with those on its other nodes: it carries
// collectives between them (package fence decides how) and spreads failures (package gossip).
package collectives
