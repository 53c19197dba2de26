package pmix

import (
	"score/nodeagent/pmi"
	"slices"
	"strings"
)

// parentPort begins the variable by which Open MPI tells spawned processes the port at which their
// spawner waits for them: MPI_Comm_spawn looks up a name that begins with the port, and that they
// publish in MPI_Init.
const parentPort = "OMPI_PARENT_PORT="

// keptPorts is how many spawned jobs' ports are remembered, the last ones: more than a program
// spawns before it looks up the first of their names.
const keptPorts = 256

// port is where a rank waits for the processes that it has spawned.
type port struct {
	name  string
	asked lookupKey // the request to spawn, until it is answered
	job   string    // the namespace of the processes, then
	ended bool      // nobody will publish a name at the port any more
}

// recordPort records the port that a request to spawn passes on.
func (s *Server) recordPort(asked lookupKey, request *pmi.SpawnRequest) {
	i := slices.IndexFunc(request.Apps[0].Env, func(v string) bool { return strings.HasPrefix(v, parentPort) })
	if i < 0 {
		return
	}
	name := strings.TrimPrefix(request.Apps[0].Env[i], parentPort)
	if name == "" || len(name) > pmi.MaxValue {
		return
	}
	if len(s.ports) == keptPorts {
		s.ports = slices.Delete(s.ports, 0, 1)
	}
	s.ports = append(s.ports, port{name: name, asked: asked})
}

// recordSpawned records which job a request to spawn has started.
func (s *Server) recordSpawned(asked lookupKey, job string) {
	for i := range s.ports {
		if p := &s.ports[i]; p.job == "" && p.asked == asked {
			p.job = job
		}
	}
}

// closePort ends the wait for names that a job which has ended has not published.
func (s *Server) closePort(e *pmi.Engine, job string) {
	for i := range s.ports {
		if p := &s.ports[i]; p.job == job {
			p.ended = true
		}
	}
	e.StopWaiting(s.awaitsNobody)
}

// awaitsNobody reports whether a name is one that a job which has ended would have published.
func (s *Server) awaitsNobody(service string) bool {
	key := s.keyOf(service)
	return slices.ContainsFunc(s.ports, func(p port) bool { return p.ended && strings.HasPrefix(key, p.name+":") })
}
