package message

import "score/nodeagent/pmi/pmix/bfrops"

// SpawnRequest asks the server to start a new job.
type SpawnRequest struct {
	Infos bfrops.Infos
	Apps  []bfrops.App
}

// ReadSpawn reads a SpawnRequest.
func ReadSpawn(r *bfrops.Reader) SpawnRequest {
	return SpawnRequest{Infos: r.Infos(), Apps: r.Apps()}
}

// Write writes the request after its command.
func (m *SpawnRequest) Write(w *bfrops.Writer) {
	w.Infos(m.Infos)
	w.Apps(m.Apps)
}

// WriteSpawned writes the reply to a spawn: the name of the new job.
func WriteSpawned(w *bfrops.Writer, code int32, namespace string) {
	w.Status(code)
	w.Text(namespace)
}

// ReadSpawned reads the reply to a spawn.
func ReadSpawned(r *bfrops.Reader) (code int32, namespace string) { return r.Status(), r.Text() }
