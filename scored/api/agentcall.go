package api

// ForUID is the header in which an agent names the user for whom it forwards a call: the uid at the
// other end of its socket, from the kernel. Servers accept this and ForLimits from agents, and
// nothing else.
const ForUID = "Score-For-Uid"

// AgentSocketName is the name of the socket at which an agent serves the users of its host. It is
// beside the server's, and is used if there is no server.
const AgentSocketName = "agent.sock"

// MaxQueued bounds the messages that wait for the other end of an agent's stream: the requests of
// 16 jobs at their limit (pmi.MaxAsked), or the answers to as many, since an agent repeats its
// requests on each new stream.
const MaxQueued = 1 << 17
