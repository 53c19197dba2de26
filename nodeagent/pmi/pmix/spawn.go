package pmix

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
)

func (c *conn) spawn(s *Server, tag uint32, r *bfrops.Reader) error {
	m := message.ReadSpawn(r)
	if err := r.Err(); err != nil {
		return err
	}
	request := &pmi.SpawnRequest{}
	if len(m.Apps) > pmi.MaxSpawnApps {
		return fmt.Errorf("%w: a spawn of %d commands", pmi.ErrTooLong, len(m.Apps))
	}
	for i := range m.Apps {
		request.Apps = append(request.Apps, spawnApp(&m.Apps[i], m.Infos))
	}
	if err := s.engine.Spawn(c.rank, pmi.Tag(tag), request); err != nil {
		s.status(c, tag, message.ErrBadParam)
		return nil
	}
	s.recordPort(lookupKey{c.id, tag}, request)
	return nil
}

// spawnApp converts a command. all are the hints for the whole job, which hold for each command.
func spawnApp(app *bfrops.App, all bfrops.Infos) pmi.SpawnApp {
	out := pmi.SpawnApp{Command: app.Command, Env: app.Env, MaxProcs: int(app.MaxProcs)}
	if out.Command == "" && len(app.Args) > 0 {
		out.Command = app.Args[0]
	}
	if len(app.Args) > 1 {
		out.Args = app.Args[1:]
	}
	hint := func(name, value string) {
		if value != "" {
			out.Info = append(out.Info, pmi.KV{Key: name, Value: value})
		}
	}
	text := func(key string) string {
		for _, infos := range [...]bfrops.Infos{app.Infos, all} {
			if v := infos.Find(key); v != nil {
				return v.Text
			}
		}
		return ""
	}
	dir := text(message.KeyWorkDir)
	if dir == "" {
		dir = app.Dir
	}
	hint("wdir", dir)
	hint("host", text(message.KeyHost))
	return out
}

func (s *Server) answerSpawn(c *conn, event *pmi.Event) {
	w := s.writer(c)
	if event.Result.Failed != "" {
		message.WriteSpawned(w, message.ErrNoResources, "")
	} else {
		s.recordSpawned(lookupKey{c.id, uint32(event.Tag)}, event.Result.KVSName)
		message.WriteSpawned(w, message.Success, event.Result.KVSName)
	}
	s.send(c, uint32(event.Tag), w)
}
