// Package filetransfer brings the files that are sent along with a job to its nodes, through a tree
// of agents, and serves them to other agents. Package staging keeps them.
package filetransfer
