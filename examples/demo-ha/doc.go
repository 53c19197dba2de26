// Command demo-ha shows a cluster that survives failures: three servers and three agents on
// loopback, a job that does not notice them, and a job that may be restarted. It kills the leading
// server, then the agent of a node. Run it by `make demo-ha`.
package main
