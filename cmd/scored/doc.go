// Scored is the cluster: its daemons (server, agent), a whole cluster on one
// machine (dev), and the commands by which users ask about jobs and nodes.
//
// The commands stand in packages cli and daemon. This one only puts them
// together, and is the stewards' program, since an agent starts them from its
// own executable.
package main
