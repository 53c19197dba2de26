// Package api holds what servers, agents and users' programs agree on besides the messages
// themselves, which are package scorev1: headers of calls and their bounds, names, which calls may
// be repeated, how texts that are not UTF-8 go as JSON, and the name of the build. It wraps the
// transports of others, and opens no file or connection itself.
//
// Read usercall.go and agentcall.go first, then repeat.go.
package api
