// Scored is the program of the cluster: its daemons (server, agent), a whole cluster on one machine
// (dev), and the commands with which users and administrators look at and control jobs and nodes.
//
// The commands are in packages cli and daemon. This package only combines them. It is also the
// stewards' program, since an agent starts stewards from its own executable.
package main
