package pmi2

import (
	"fmt"
	"score/nodeagent/pmi"
	"strings"
)

// Spawn reads a spawn request: first the preput keys, then one group of pairs per command, each
// begun by subcmd.
//
//	spawn;ncmds=1;preputcount=1;ppkey0=K;ppval0=V;
//	subcmd=exe;maxprocs=2;argc=1;argv0=a;infokeycount=1;infokey0=wdir;infoval0=/tmp;
//
// Clients disagree about the numbers in the keys (some count infokey0 per command), so the pairs
// are read in order and only the counts are checked.
func (b *Body) Spawn() (*pmi.SpawnRequest, error) {
	s := spawnReader{request: &pmi.SpawnRequest{}}
	for _, p := range b.pairs[1:] {
		if err := s.pair(string(p.key), string(p.value)); err != nil {
			return nil, err
		}
	}
	if err := s.closeApp(); err != nil {
		return nil, err
	}
	ncmds, err := b.Int("ncmds", len(s.request.Apps))
	if err != nil {
		return nil, err
	}
	if ncmds < 1 || ncmds != len(s.request.Apps) {
		return nil, fmt.Errorf("%w: a spawn of ncmds=%d with %d commands", pmi.ErrMalformed, ncmds, len(s.request.Apps))
	}
	return s.request, nil
}

type spawnReader struct {
	request *pmi.SpawnRequest
	app     *pmi.SpawnApp
	argc    int
	key     string
}

func (s *spawnReader) pair(key, value string) error {
	switch {
	case key == "subcmd":
		return s.openApp(value)
	case strings.HasPrefix(key, "ppkey"), strings.HasPrefix(key, "infokey") && key != "infokeycount":
		s.key = value
	case strings.HasPrefix(key, "ppval"):
		if s.request.Preput == nil {
			s.request.Preput = make(map[string]string)
		}
		s.request.Preput[s.key] = value
	case s.app == nil:
		// ncmds, preputcount and what later clients may add.
	case strings.HasPrefix(key, "infoval"):
		s.app.Info = append(s.app.Info, pmi.KV{Key: s.key, Value: value})
	case strings.HasPrefix(key, "argv"):
		s.app.Args = append(s.app.Args, value)
	case key == "maxprocs":
		return number(key, value, &s.app.MaxProcs)
	case key == "argc":
		return number(key, value, &s.argc)
	}
	return nil
}

func (s *spawnReader) openApp(command string) error {
	if err := s.closeApp(); err != nil {
		return err
	}
	if len(s.request.Apps) == pmi.MaxSpawnApps {
		return fmt.Errorf("%w: a spawn of more than %d commands", pmi.ErrTooLong, pmi.MaxSpawnApps)
	}
	s.app, s.argc = &pmi.SpawnApp{Command: command}, 0
	return nil
}

// closeApp checks the command that was being read and adds it.
func (s *spawnReader) closeApp() error {
	if s.app == nil {
		return nil
	}
	app := s.app
	s.app = nil
	switch {
	case app.Command == "" || app.MaxProcs < 1:
		return fmt.Errorf("%w: a spawn of %d processes of %q", pmi.ErrMalformed, app.MaxProcs, app.Command)
	case s.argc != len(app.Args):
		return fmt.Errorf("%w: a spawn with argc=%d and %d arguments", pmi.ErrMalformed, s.argc, len(app.Args))
	}
	s.request.Apps = append(s.request.Apps, *app)
	return nil
}

func number(key, text string, into *int) error {
	n, err := pmi.ParseInt(key, text)
	*into = n
	return err
}
