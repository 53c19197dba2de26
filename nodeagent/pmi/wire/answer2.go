package wire

import (
	"cmp"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmi2"
)

// answer2 appends the response to a held PMI-2 request.
func (x *session) answer2(dst []byte, event *pmi.Event) []byte {
	thread := x.thread(event.Tag)
	switch event.Kind {
	case pmi.EventReleased:
		return appendStatus2(dst, "kvs-fence-response", thread, event.Outcome != pmi.Missing, event.Value)
	case pmi.EventRing:
		f := pmi2.Begin(dst, "ring-response", thread)
		f.Int("rc", 0)
		f.Int("ring-count", event.Ring.Count)
		f.Pair("ring-left", event.Ring.Left)
		f.Pair("ring-right", event.Ring.Right)
		return f.End()
	case pmi.EventAttr:
		f := pmi2.Begin(dst, "info-getnodeattr-response", thread)
		f.Int("rc", 0)
		f.Pair("found", "TRUE")
		f.Pair("value", event.Value)
		return f.End()
	case pmi.EventNameAnswer:
		return appendName2(dst, event, thread)
	case pmi.EventSpawnAnswer:
		return appendSpawn2(dst, event.Result, thread)
	default:
		// The other events answer nobody.
		return dst
	}
}

func appendName2(dst []byte, event *pmi.Event, thread string) []byte {
	switch event.Name.Kind {
	case pmi.NamePublish:
		return appendStatus2(dst, "name-publish-response", thread, event.OK, cmp.Or(event.Value, "service already published"))
	case pmi.NameUnpublish:
		return appendStatus2(dst, "name-unpublish-response", thread, event.OK, "service not found")
	case pmi.NameLookup:
	}
	f := pmi2.Begin(dst, "name-lookup-response", thread)
	if !event.OK {
		f.Int("rc", 1)
		f.Pair("found", "FALSE")
		f.Pair("errmsg", "service not found")
		return f.End()
	}
	f.Int("rc", 0)
	f.Pair("found", "TRUE")
	// Slurm's client reads value, MPICH's reads port.
	f.Pair("value", event.Value)
	f.Pair("port", event.Value)
	return f.End()
}

func appendStatus2(dst []byte, name, thread string, ok bool, reason string) []byte {
	f := pmi2.Begin(dst, name, thread)
	if ok {
		f.Int("rc", 0)
		return f.End()
	}
	f.Int("rc", 1)
	f.Pair("errmsg", reason[:min(len(reason), pmi.MaxValue)])
	return f.End()
}

func appendSpawn2(dst []byte, result *pmi.SpawnResult, thread string) []byte {
	f := pmi2.Begin(dst, "spawn-response", thread)
	if result.Failed != "" {
		f.Int("rc", rcUnknown)
		f.Pair("errmsg", result.Failed[:min(len(result.Failed), pmi.MaxValue)])
		return f.End()
	}
	f.Int("rc", 0)
	f.Pair("jobid", result.KVSName)
	f.Int("nerrs", 0)
	return f.End()
}
