package wire

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmi1"
)

// line handles one line of PMI-1.
func (x *session) line(s *Server, text []byte) error {
	if x.spawn.Inside() {
		return x.spawnLine(s, text)
	}
	line := &s.line
	if err := line.Parse(text); err != nil {
		return err
	}
	first := !x.spoken
	x.spoken = true
	command := line.Command()
	if string(command) == "abort" {
		return x.abort1(s, line)
	}
	if x.busy != "" {
		return fmt.Errorf("%w: %.32q before the answer to %s", pmi.ErrOrder, text, x.busy)
	}
	if mcmd, ok := line.Get("mcmd"); ok {
		return x.beginSpawn(s, mcmd)
	}
	if x.spawn.Started() {
		return fmt.Errorf("%w: %.32q between the blocks of a spawn", pmi.ErrOrder, command)
	}
	switch string(command) {
	case "initack":
		return x.handshake(s, line, first)
	case "init":
		return x.init1(s, line)
	case "":
		return fmt.Errorf("%w: %.64q does not begin with cmd=", pmi.ErrMalformed, text)
	}
	if err := s.engine.Active(x.rank, command); err != nil {
		return err
	}
	return x.command1(s, line, command)
}

// command1 handles the commands that need an init before.
func (x *session) command1(s *Server, line *pmi1.Line, command []byte) error {
	start := len(s.out)
	switch string(command) {
	case "get_maxes":
		s.out = append(s.out, pmi1.Maxes...)
	case "get_appnum":
		s.out = pmi1.AppendAppNum(s.out, s.engine.AppNum(x.rank))
	case "get_my_kvsname":
		s.out = pmi1.AppendKVSName(s.out, s.engine.KVSName())
	case "get_universe_size":
		s.out = pmi1.AppendUniverseSize(s.out, s.engine.UniverseSize())
	case "put":
		return x.put1(s, line)
	case "get":
		return x.get1(s, line)
	case "barrier_in":
		x.busy = "barrier_in"
		return s.engine.FenceIn(x.rank, 0)
	case "publish_name":
		return x.name1(s, line, "publish_name", pmi.NamePublish)
	case "lookup_name":
		return x.name1(s, line, "lookup_name", pmi.NameLookup)
	case "unpublish_name":
		return x.name1(s, line, "unpublish_name", pmi.NameUnpublish)
	case "finalize":
		s.out = append(s.out, pmi1.FinalizeAck...)
		s.reply(x.rank, start)
		return s.engine.Finalize(x.rank)
	default:
		return fmt.Errorf("%w: %.32q is not a PMI-1 command", pmi.ErrMalformed, command)
	}
	s.reply(x.rank, start)
	return nil
}

// handshake answers a client that connected through PMI_PORT. The connection already identifies it,
// so the id is only checked.
func (x *session) handshake(s *Server, line *pmi1.Line, first bool) error {
	if !first {
		return fmt.Errorf("%w: initack is only a client's first word", pmi.ErrOrder)
	}
	id, err := line.Int("pmiid")
	if err != nil {
		return err
	}
	if id != x.rank {
		return claims(id)
	}
	start := len(s.out)
	s.out = pmi1.AppendHandshake(s.out, s.engine.Size(), x.rank)
	s.reply(x.rank, start)
	return nil
}

func claims(id int) error {
	return fmt.Errorf("%w: it claims to be rank %d; leave PMI_ID and PMI_RANK as the launcher set them", pmi.ErrIdentity, id)
}

// init1 reads the version that a client wants, and switches the session to frames for PMI-2.
func (x *session) init1(s *Server, line *pmi1.Line) error {
	version, err := line.Int("pmi_version")
	if err != nil {
		return err
	}
	start := len(s.out)
	switch version {
	case 1:
		if err := s.engine.Init(x.rank); err != nil {
			return err
		}
		s.out = append(s.out, pmi1.InitOK...)
	case 2:
		if s.engine.Phase(x.rank) != pmi.PhaseContacted {
			return s.engine.Init(x.rank)
		}
		x.mode = modeFrames
		s.out = append(s.out, pmi1.InitOK2...)
	default:
		s.out = append(s.out, pmi1.InitRefused...)
	}
	s.reply(x.rank, start)
	return nil
}

func (x *session) put1(s *Server, line *pmi1.Line) error {
	name, err := line.Need("kvsname")
	if err != nil {
		return err
	}
	if string(name) != s.engine.KVSName() {
		return fmt.Errorf("%w: a put into %.64q, which is not this job's key-value space", pmi.ErrMalformed, name)
	}
	key, err := line.Need("key")
	if err != nil {
		return err
	}
	// An empty value may come without its key.
	value, _ := line.Get("value")
	if err := s.engine.Put(x.rank, key, value); err != nil {
		return err
	}
	start := len(s.out)
	s.out = append(s.out, pmi1.PutOK...)
	s.reply(x.rank, start)
	return nil
}

func (x *session) get1(s *Server, line *pmi1.Line) error {
	name, err := line.Need("kvsname")
	if err != nil {
		return err
	}
	key, err := line.Need("key")
	if err != nil {
		return err
	}
	start := len(s.out)
	if string(name) != s.engine.KVSName() {
		s.out = pmi1.AppendMissing(s.out, "kvsname", name)
		s.reply(x.rank, start)
		return nil
	}
	value, ok := s.engine.Get(x.rank, pmi.AnyRank, key)
	if !ok {
		value, ok = s.engine.FailureAttr(key)
	}
	if ok {
		s.out, ok = pmi1.AppendValue(s.out, value)
	}
	if !ok {
		s.out = pmi1.AppendMissing(s.out, "key", key)
	}
	s.reply(x.rank, start)
	return nil
}

func (x *session) name1(s *Server, line *pmi1.Line, command string, kind pmi.NameKind) error {
	service, err := line.Need("service")
	if err != nil {
		return err
	}
	// MPICH's ch4:ucx publishes an empty port.
	port, _ := line.Get("port")
	x.busy = command
	return s.engine.Name(x.rank, 0, kind, service, port)
}

func (x *session) abort1(s *Server, line *pmi1.Line) error {
	code := 1
	if _, ok := line.Get("exitcode"); ok {
		var err error
		if code, err = line.Int("exitcode"); err != nil {
			return err
		}
	}
	s.engine.Abort(x.rank, code, abortText(line.Get, "error_msg"))
	return nil
}

func (x *session) beginSpawn(s *Server, mcmd []byte) error {
	if string(mcmd) != "spawn" {
		return fmt.Errorf("%w: %.32q is not a PMI-1 command", pmi.ErrMalformed, mcmd)
	}
	if err := s.engine.Active(x.rank, []byte("spawn")); err != nil {
		return err
	}
	x.spawn.Begin()
	return nil
}

func (x *session) spawnLine(s *Server, text []byte) error {
	request, err := x.spawn.Line(text)
	if err != nil || request == nil {
		return err
	}
	x.busy = "spawn"
	return s.engine.Spawn(x.rank, 0, request)
}

// answer1 appends the reply to a held PMI-1 request.
func (x *session) answer1(dst []byte, event *pmi.Event) []byte {
	x.busy = ""
	switch event.Kind {
	case pmi.EventReleased:
		if event.Outcome == pmi.Missing {
			return append(dst, pmi1.BarrierFailed...)
		}
		return append(dst, pmi1.BarrierOut...)
	case pmi.EventSpawnAnswer:
		return pmi1.AppendSpawn(dst, event.Result)
	case pmi.EventNameAnswer:
		return appendName1(dst, event)
	default:
		// No other request of PMI-1 is held.
		return dst
	}
}

func appendName1(dst []byte, event *pmi.Event) []byte {
	switch {
	case event.Name.Kind == pmi.NamePublish && event.OK:
		return append(dst, pmi1.PublishOK...)
	case event.Name.Kind == pmi.NamePublish:
		return pmi1.AppendUnpublished(dst, event.Value)
	case event.Name.Kind == pmi.NameUnpublish && event.OK:
		return append(dst, pmi1.UnpublishOK...)
	case event.Name.Kind == pmi.NameUnpublish:
		return append(dst, pmi1.UnpublishMissed...)
	case event.OK:
		return pmi1.AppendLookup(dst, event.Value)
	}
	return append(dst, pmi1.LookupMissed...)
}
