// Package stewardpb has the messages between an agent and its stewards, generated from
// steward.proto. Package nodeagent/steward/wire frames them.
package stewardpb
