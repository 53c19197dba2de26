package api

// ForUID is the header by which an agent says for whom it passes a call on: the number of the user
// at the other end of its socket, as the kernel told. Servers believe that much of agents, and
// ForLimits, and nothing else.
const ForUID = "Score-For-Uid"

// AgentSocketName is the name of the socket at which an agent serves the users of its host; it is
// beside the server's, whose place it takes where there is none.
const AgentSocketName = "agent.sock"
