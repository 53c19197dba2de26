package wire

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmi2"
)

// rcUnknown answers an unknown command. Clients try extensions and cope with the refusal.
const rcUnknown = 14

// request2 is one PMI-2 request: its pairs and the thread to answer.
type request2 struct {
	*pmi2.Body
	thread string
}

// frame handles one frame of PMI-2.
func (x *session) frame(s *Server, text []byte) error {
	if !x.full {
		x.stale = pmi2.Stale(text)
	}
	if len(text) < x.stale {
		return fmt.Errorf("%w: a frame of %d bytes", pmi.ErrMalformed, len(text))
	}
	request := request2{Body: &s.body}
	if err := request.Parse(text[:len(text)-x.stale]); err != nil {
		return err
	}
	if thread, ok := request.Get(pmi2.ThreadKey); ok {
		if len(thread) > pmi2.MaxThread {
			return fmt.Errorf("%w: a thread's mark of %d bytes, the most is %d", pmi.ErrTooLong, len(thread), pmi2.MaxThread)
		}
		request.thread = string(thread)
	}
	command := request.Command()
	switch string(command) {
	case "fullinit":
		return x.fullinit(s, &request)
	case "abort":
		s.engine.Abort(x.rank, 1, abortText(request.Get, "msg"))
		return nil
	}
	if err := s.engine.Active(x.rank, command); err != nil {
		return err
	}
	return x.command2(s, &request, command)
}

func (x *session) command2(s *Server, request *request2, command []byte) error {
	switch string(command) {
	case "job-getid":
		f := x.begin2(s, request, "job-getid-response")
		f.Pair("jobid", s.engine.KVSName())
		x.end2(s, &f)
		return nil
	case "kvs-put":
		return x.put2(s, request)
	case "kvs-get":
		return x.get2(s, request)
	case "kvs-fence":
		return s.engine.FenceIn(x.rank, x.hold(request))
	case "ring":
		return x.ring2(s, request)
	case "info-getjobattr":
		return x.jobAttr(s, request)
	case "info-getnodeattr":
		return x.nodeAttr(s, request)
	case "info-putnodeattr":
		return x.putNodeAttr(s, request)
	case "name-publish":
		return x.name2(s, request, pmi.NamePublish)
	case "name-lookup":
		return x.name2(s, request, pmi.NameLookup)
	case "name-unpublish":
		return x.name2(s, request, pmi.NameUnpublish)
	case "spawn":
		spawn, err := request.Spawn()
		if err != nil {
			return err
		}
		return s.engine.Spawn(x.rank, x.hold(request), spawn)
	case "finalize":
		f := x.begin2(s, request, "finalize-response")
		x.end2(s, &f)
		return s.engine.Finalize(x.rank)
	}
	return x.unknown2(s, request, command)
}

// unknown2 refuses a command without ending the job. hydra ends it, which breaks programs that only
// try a command.
func (x *session) unknown2(s *Server, request *request2, command []byte) error {
	if len(command) > pmi.MaxKey {
		return fmt.Errorf("%w: a command of %d bytes", pmi.ErrTooLong, len(command))
	}
	f := pmi2.Begin(s.out, string(command)+"-response", request.thread)
	f.Int("rc", rcUnknown)
	f.Pair("errmsg", "unknown command")
	x.end2(s, &f)
	return nil
}

// begin2 starts a successful response.
func (x *session) begin2(s *Server, request *request2, name string) pmi2.Frame {
	f := pmi2.Begin(s.out, name, request.thread)
	f.Int("rc", 0)
	return f
}

// end2 completes a response and adds it to the effects.
func (x *session) end2(s *Server, f *pmi2.Frame) {
	start := len(s.out)
	s.out = f.End()
	s.reply(x.rank, start)
}

func (x *session) fullinit(s *Server, request *request2) error {
	for _, name := range []string{"pmirank", "srcid"} {
		id, err := request.Int(name, x.rank)
		if err != nil {
			return err
		}
		if id != x.rank {
			return claims(id)
		}
	}
	if err := s.engine.Init(x.rank); err != nil {
		return err
	}
	x.full = true
	f := x.begin2(s, request, "fullinit-response")
	f.Int("pmi-version", 2)
	f.Int("pmi-subversion", 0)
	f.Int("rank", int64(x.rank))
	f.Int("size", int64(s.engine.Size()))
	f.Int("appnum", int64(s.engine.AppNum(x.rank)))
	f.Pair("debugged", "FALSE")
	f.Pair("pmiverbose", "FALSE")
	if spawner := s.engine.Spawner(); spawner != "" {
		f.Pair("spawner-jobid", spawner)
	}
	x.end2(s, &f)
	return nil
}

func (x *session) put2(s *Server, request *request2) error {
	return x.store(s, request, "kvs-put-response", s.engine.Put)
}

// store handles a request that sets a value.
func (x *session) store(s *Server, request *request2, name string, put func(rank int, key, value []byte) error) error {
	key, err := request.Need("key")
	if err != nil {
		return err
	}
	value, _ := request.Get("value")
	if err := put(x.rank, key, value); err != nil {
		return err
	}
	f := x.begin2(s, request, name)
	x.end2(s, &f)
	return nil
}

func (x *session) get2(s *Server, request *request2) error {
	key, err := request.Need("key")
	if err != nil {
		return err
	}
	source, err := request.Int("srcid", pmi.AnyRank)
	if err != nil {
		return err
	}
	value, ok := "", false
	if job, _ := request.Get("jobid"); len(job) == 0 || string(job) == s.engine.KVSName() {
		value, ok = s.engine.Get(x.rank, source, key)
	}
	x.found(s, request, "kvs-get-response", value, ok)
	return nil
}

// found answers a request for a value.
func (x *session) found(s *Server, request *request2, name, value string, ok bool) {
	f := x.begin2(s, request, name)
	if ok {
		f.Pair("found", "TRUE")
		f.Pair("value", value)
	} else {
		f.Pair("found", "FALSE")
	}
	x.end2(s, &f)
}

func (x *session) jobAttr(s *Server, request *request2) error {
	key, err := request.Need("key")
	if err != nil {
		return err
	}
	value, ok := s.engine.JobAttr(key)
	x.found(s, request, "info-getjobattr-response", value, ok)
	return nil
}

func (x *session) putNodeAttr(s *Server, request *request2) error {
	return x.store(s, request, "info-putnodeattr-response", s.engine.PutNodeAttr)
}

func (x *session) nodeAttr(s *Server, request *request2) error {
	key, err := request.Need("key")
	if err != nil {
		return err
	}
	wait, _ := request.Get("wait")
	tag := x.hold(request)
	value, ok, held, err := s.engine.NodeAttr(x.rank, tag, key, string(wait) == "TRUE")
	if err != nil || held {
		return err
	}
	x.thread(tag)
	x.found(s, request, "info-getnodeattr-response", value, ok)
	return nil
}

func (x *session) name2(s *Server, request *request2, kind pmi.NameKind) error {
	service, err := request.Need("name")
	if err != nil {
		return err
	}
	port, _ := request.Get("port")
	return s.engine.Name(x.rank, x.hold(request), kind, service, port)
}

func (x *session) ring2(s *Server, request *request2) error {
	count, err := request.Int("ring-count", 1)
	if err != nil {
		return err
	}
	left, _ := request.Get("ring-left")
	right, _ := request.Get("ring-right")
	return s.engine.RingIn(x.rank, x.hold(request), pmi.Ring{Count: int64(count), Left: string(left), Right: string(right)})
}

// hold returns a tag for a request that may be answered later.
func (x *session) hold(request *request2) pmi.Tag {
	x.tag++
	if request.thread != "" {
		if x.threads == nil {
			x.threads = make(map[pmi.Tag]string)
		}
		x.threads[x.tag] = request.thread
	}
	return x.tag
}

// thread returns and forgets the mark of the thread that made a held request.
func (x *session) thread(tag pmi.Tag) string {
	thread := x.threads[tag]
	delete(x.threads, tag)
	return thread
}
