// Package statepb has the messages of the replicated log and of snapshots, generated from
// state.proto. Package state applies them.
package statepb
