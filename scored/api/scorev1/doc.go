// Package scorev1 has the messages between users' programs, servers and agents, generated from
// job.proto and user.proto in scored/api/proto. Package scorev1connect has the services.
package scorev1
