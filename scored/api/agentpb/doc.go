// Package agentpb has the messages between servers, agents and newcomers, generated from
// agent.proto in scored/api/proto. Package agentpbconnect has the services.
//
// They are of the protocol score.v1, as those of package scorev1 are, but users' programs do not
// need them: the Go runtime registers each message of a package when a program starts, which took
// scrun 0.2 ms.
package agentpb
