// Package scorev1 has the messages between users' programs, servers and agents, generated from the
// files in scored/api/proto. Package scorev1connect has the services.
package scorev1
