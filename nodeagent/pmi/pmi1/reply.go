package pmi1

import (
	"cmp"
	"fmt"
	"score/nodeagent/pmi"
	"strconv"
	"strings"
)

// Replies without variable parts.
const (
	// InitOK answers an init: this server speaks PMI 1.1. A client of 1.2 then uses plain barriers
	// only.
	InitOK = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
	// InitOK2 answers a client that asks for PMI-2; frames follow.
	InitOK2 = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
	// InitRefused answers unknown versions. The client aborts.
	InitRefused     = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"
	PutOK           = "cmd=put_result rc=0 msg=success\n"
	BarrierOut      = "cmd=barrier_out\n"
	BarrierFailed   = "cmd=barrier_out rc=-1 msg=a_node_of_the_job_is_lost\n"
	FinalizeAck     = "cmd=finalize_ack\n"
	PublishOK       = "cmd=publish_result info=ok rc=0 msg=success\n"
	LookupMissed    = "cmd=lookup_result rc=1 msg=service_not_found\n"
	UnpublishOK     = "cmd=unpublish_result info=ok rc=0 msg=success\n"
	UnpublishMissed = "cmd=unpublish_result" + infoFailed + " rc=1 msg=service_not_found\n"
)

// infoFailed is in the refusals of publish and unpublish: older clients (MPICH 3 and its relatives)
// read info alone, later ones rc alone. Slurm says the same word; hydra says ok.
const infoFailed = " info=fail"

// Maxes is the reply to get_maxes.
var Maxes = fmt.Sprintf("cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d\n",
	pmi.MaxKVSName, pmi.MaxKey, pmi.MaxValue)

// AppendHandshake appends the four lines that answer initack.
func AppendHandshake(dst []byte, size, rank int) []byte {
	return fmt.Appendf(dst, "cmd=initack\ncmd=set size=%d\ncmd=set rank=%d\ncmd=set debug=0\n", size, rank)
}

// AppendAppNum appends the reply to get_appnum.
func AppendAppNum(dst []byte, app int) []byte {
	return appendNumber(dst, "cmd=appnum appnum=", app)
}

// AppendUniverseSize appends the reply to get_universe_size.
func AppendUniverseSize(dst []byte, size int) []byte {
	return appendNumber(dst, "cmd=universe_size size=", size)
}

// AppendKVSName appends the reply to get_my_kvsname.
func AppendKVSName(dst []byte, name string) []byte {
	dst = append(dst, "cmd=my_kvsname kvsname="...)
	dst = append(dst, name...)
	return append(dst, '\n')
}

// AppendValue appends the reply to a get that found a value. ok is false if PMI-1 cannot express
// the value: PMI-2 clients of the same job may put blanks.
func AppendValue(dst []byte, value string) (out []byte, ok bool) {
	const head = "cmd=get_result rc=0 msg=success value="
	if len(head)+len(value) >= MaxLine || strings.ContainsAny(value, " \n\x00") {
		return dst, false
	}
	dst = append(dst, head...)
	dst = append(dst, value...)
	return append(dst, '\n'), true
}

// AppendMissing appends the reply to a get that found nothing. what is the kind of the unknown
// name.
func AppendMissing(dst []byte, what string, name []byte) []byte {
	dst = append(dst, "cmd=get_result rc=-1 msg="...)
	dst = append(dst, what...)
	dst = append(dst, '_')
	dst = append(dst, name[:min(len(name), pmi.MaxKVSName)]...)
	return append(dst, "_not_found value=unknown\n"...)
}

// AppendLookup appends the reply to a lookup that found a port. A port of a PMI-2 program that
// PMI-1 cannot express counts as missing.
func AppendLookup(dst []byte, port string) []byte {
	const head, tail = "cmd=lookup_result port=", " info=ok rc=0 msg=success\n"
	if len(head)+len(port)+len(tail) >= MaxLine || strings.ContainsAny(port, " \n\x00") {
		return append(dst, LookupMissed...)
	}
	dst = append(dst, head...)
	dst = append(dst, port...)
	return append(dst, tail...)
}

// AppendUnpublished appends the refusal of a publish_name. reason is empty if the name is taken.
func AppendUnpublished(dst []byte, reason string) []byte {
	dst = append(dst, "cmd=publish_result"+infoFailed+" rc=1"...)
	return appendReason(dst, cmp.Or(reason, "key already present"))
}

// AppendSpawn appends the reply to a spawn. It includes the codes of the processes if they fit into
// the line; clients take missing codes for success, as with hydra's short reply rc=0.
func AppendSpawn(dst []byte, result *pmi.SpawnResult) []byte {
	if result.Failed != "" {
		return appendReason(append(dst, "cmd=spawn_result rc=-1"...), result.Failed)
	}
	start := len(dst)
	dst = append(dst, "cmd=spawn_result rc=0"...)
	if result.KVSName != "" {
		dst = append(dst, " jobid="...)
		dst = append(dst, result.KVSName...)
	}
	short := len(dst)
	for i, code := range result.ErrCodes {
		if i == 0 {
			dst = append(dst, " errcodes="...)
		} else {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(code), 10)
	}
	if len(dst)-start >= MaxLine {
		dst = dst[:short]
	}
	return append(dst, '\n')
}

// maxReason bounds the reason in a refusal, in bytes.
const maxReason = 512

// appendReason ends a refusal with its reason, as a word.
func appendReason(dst []byte, reason string) []byte {
	word := strings.Map(unblank, reason)
	dst = append(dst, " msg="...)
	dst = append(dst, word[:min(len(word), maxReason)]...)
	return append(dst, '\n')
}

func unblank(r rune) rune {
	if r <= ' ' {
		return '_'
	}
	return r
}

func appendNumber(dst []byte, head string, n int) []byte {
	dst = append(dst, head...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\n')
}
