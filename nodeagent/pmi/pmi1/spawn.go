package pmi1

import (
	"fmt"
	"score/nodeagent/pmi"
	"strconv"
	"strings"
)

// Spawn collects the blocks of a spawn request:
//
//	mcmd=spawn
//	nprocs=3
//	execname=/bin/worker
//	totspawns=1
//	spawnssofar=1
//	...
//	endcmd
//
// A spawn of several commands is a sequence of blocks; the request is complete after the last.
type Spawn struct {
	request pmi.SpawnRequest
	block   map[string]string
	total   int
	bytes   int
	inside  bool
}

// Started reports whether blocks of a request have come and more are missing.
func (s *Spawn) Started() bool { return s.inside || s.total > 0 }

// Inside reports whether the next line belongs to a block.
func (s *Spawn) Inside() bool { return s.inside }

// Begin opens a block, after its line mcmd=spawn.
func (s *Spawn) Begin() {
	s.inside = true
	s.block = make(map[string]string)
}

// Line handles a line of a block. It returns the request after the last line of the last block,
// before that nil.
func (s *Spawn) Line(text []byte) (*pmi.SpawnRequest, error) {
	if len(text) >= MaxLine {
		return nil, fmt.Errorf("%w: a line of %d bytes, the most is %d", pmi.ErrTooLong, len(text), MaxLine-1)
	}
	if s.bytes += len(text) + 1; s.bytes > pmi.MaxSpawnBytes {
		return nil, fmt.Errorf("%w: a spawn of more than %d bytes", pmi.ErrTooLong, pmi.MaxSpawnBytes)
	}
	line := string(text)
	if line == "endcmd" {
		return s.endBlock()
	}
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return nil, fmt.Errorf("%w: %.64q in a spawn is not key=value", pmi.ErrMalformed, line)
	}
	s.block[key] = value
	return nil, nil
}

func (s *Spawn) endBlock() (*pmi.SpawnRequest, error) {
	s.inside = false
	total, err := s.number("totspawns")
	if err != nil {
		return nil, err
	}
	sofar, err := s.number("spawnssofar")
	if err != nil {
		return nil, err
	}
	switch {
	case total < 1 || total > pmi.MaxSpawnApps:
		return nil, fmt.Errorf("%w: a spawn of %d commands, the most is %d", pmi.ErrTooLong, total, pmi.MaxSpawnApps)
	case s.total != 0 && s.total != total, sofar != len(s.request.Apps)+1:
		return nil, fmt.Errorf("%w: block %d of %d follows block %d of %d in a spawn",
			pmi.ErrOrder, sofar, total, len(s.request.Apps), s.total)
	}
	s.total = total
	if err := s.addApp(); err != nil {
		return nil, err
	}
	if sofar < total {
		return nil, nil
	}
	request := s.request
	*s = Spawn{}
	return &request, nil
}

// addApp turns the block into a command. Preput keys are repeated in each block, and read from the
// first.
func (s *Spawn) addApp() error {
	app := pmi.SpawnApp{Command: s.block["execname"]}
	var err error
	if app.MaxProcs, err = s.number("nprocs"); err != nil {
		return err
	}
	if app.Command == "" || app.MaxProcs < 1 {
		return fmt.Errorf("%w: a spawn of %d processes of %q", pmi.ErrMalformed, app.MaxProcs, app.Command)
	}
	args, err := s.count("argcnt")
	if err != nil {
		return err
	}
	for i := range args {
		arg, err := s.need("arg" + strconv.Itoa(i+1))
		if err != nil {
			return err
		}
		app.Args = append(app.Args, arg)
	}
	if app.Info, err = s.pairs("info_num", "info_key_", "info_val_"); err != nil {
		return err
	}
	preput, err := s.pairs("preput_num", "preput_key_", "preput_val_")
	if err != nil {
		return err
	}
	for _, kv := range preput {
		if s.request.Preput == nil {
			s.request.Preput = make(map[string]string)
		}
		s.request.Preput[kv.Key] = kv.Value
	}
	s.request.Apps = append(s.request.Apps, app)
	return nil
}

func (s *Spawn) pairs(count, key, value string) ([]pmi.KV, error) {
	n, err := s.count(count)
	if err != nil {
		return nil, err
	}
	var pairs []pmi.KV
	for i := range n {
		k, err := s.need(key + strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		v, err := s.need(value + strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pmi.KV{Key: k, Value: v})
	}
	return pairs, nil
}

// count reads the number of lines of one kind in the block; a missing count is 0.
func (s *Spawn) count(key string) (int, error) {
	if _, ok := s.block[key]; !ok {
		return 0, nil
	}
	n, err := s.number(key)
	if err == nil && (n < 0 || n > len(s.block)) {
		err = fmt.Errorf("%w: %s=%d in a spawn of %d lines", pmi.ErrMalformed, key, n, len(s.block))
	}
	return n, err
}

func (s *Spawn) need(key string) (string, error) {
	value, ok := s.block[key]
	if !ok {
		return "", fmt.Errorf("%w: a spawn without %s=", pmi.ErrMalformed, key)
	}
	return value, nil
}

func (s *Spawn) number(key string) (int, error) {
	text, err := s.need(key)
	if err != nil {
		return 0, err
	}
	return pmi.ParseInt(key, text)
}
