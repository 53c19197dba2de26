package cli

import (
	"fmt"
	"io"
	"score/gang"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"time"
)

// nodeData is a node as --json prints it.
type nodeData struct {
	Name             string     `json:"name"`
	Address          string     `json:"address"`
	Up               bool       `json:"up"`
	State            string     `json:"state"`
	SinceNanos       int64      `json:"since_nanos"`
	HeardNanos       int64      `json:"heard_nanos"`
	Drain            *drainData `json:"drain"`
	Version          string     `json:"version"`
	CPUs             uint32     `json:"cpus"`
	SharesCPUs       bool       `json:"shares_cpus"`
	MemoryBytes      uint64     `json:"memory_bytes"`
	MemoryUsedBytes  uint64     `json:"memory_used_bytes"`
	Channels         uint32     `json:"channels"`
	ChannelsUsed     uint32     `json:"channels_used"`
	Link             string     `json:"link"`
	Bearers          []string   `json:"bearers"`
	Jobs             uint32     `json:"jobs"`
	JobIDs           []uint64   `json:"job_ids"`
	Certificate      string     `json:"certificate"`
	ExpiresNanos     int64      `json:"certificate_expires_nanos"`
	ClockOffsetNanos int64      `json:"clock_offset_nanos"`
	WallOffsetNanos  int64      `json:"wall_offset_nanos"`
	ClockErrorNanos  int64      `json:"clock_error_nanos"`
	RoundTripNanos   int64      `json:"round_trip_nanos"`
	Notes            []string   `json:"notes"`
}

// drainData is the reason why a node takes no new jobs.
type drainData struct {
	Reason     string `json:"reason"`
	By         string `json:"by"`
	SinceNanos int64  `json:"since_nanos"`
	Requeue    bool   `json:"requeue"`
}

func newNodeData(node *scorev1.Node) nodeData {
	data := nodeData{
		Name: node.GetName(), Address: node.GetAddress(), Up: node.GetUp(), State: nodeWord(node), Version: node.GetVersion(),
		SinceNanos: node.GetSinceNanos(), HeardNanos: node.GetHeardNanos(),
		CPUs: node.GetCpus(), SharesCPUs: node.GetSharesCpus(),
		MemoryBytes: node.GetMemoryBytes(), MemoryUsedBytes: node.GetMemoryUsedBytes(),
		Jobs: node.GetJobs(), JobIDs: nonNil(node.GetJobIds()),
		Link: node.GetLink(), Bearers: nonNil(node.GetBearers()),
		Channels: node.GetChannels(), ChannelsUsed: node.GetChannelsUsed(),
		Certificate: node.GetCertificate(), ExpiresNanos: node.GetCertificateExpiresNanos(),
		ClockOffsetNanos: node.GetClockOffsetNanos(), WallOffsetNanos: node.GetWallOffsetNanos(), ClockErrorNanos: node.GetClockErrorNanos(),
		RoundTripNanos: node.GetRoundTripNanos(), Notes: nonNil(node.GetNotes()),
	}
	if node.GetDrainedBy() != "" {
		data.Drain = &drainData{node.GetDrainReason(), node.GetDrainedBy(), node.GetDrainedNanos(), node.GetDrainRequeue()}
	}
	return data
}

// nodeWord returns the node's state in a word.
func nodeWord(node *scorev1.Node) string {
	return strings.ToLower(strings.TrimPrefix(node.GetState().String(), "NODE_STATE_"))
}

func printNodesJSON(out io.Writer, nodes []*scorev1.Node) error {
	return printJSONList(out, "nodes", nodes, newNodeData)
}

func printNodes(out io.Writer, nodes []*scorev1.Node) error {
	t := newTable(out, "NAME", "STATE", "CPUS", "MEMORY", "PROMISED", "CHANNELS", "JOBS", "ADDRESS", "VERSION", "REASON")
	for _, node := range nodes {
		t.row(node.GetName(), nodeWord(node), cpuWord(node), shortBytes(node.GetMemoryBytes()),
			gang.FormatMemory(int64(node.GetMemoryUsedBytes())), fmt.Sprintf("%d/%d", node.GetChannelsUsed(), node.GetChannels()),
			strconv.Itoa(int(node.GetJobs())), node.GetAddress(), orDash(node.GetVersion()), orDash(node.GetDrainReason()))
	}
	return t.flush()
}

func cpuWord(node *scorev1.Node) string {
	if node.GetSharesCpus() {
		return fmt.Sprintf("%d (shared)", node.GetCpus())
	}
	return strconv.Itoa(int(node.GetCpus()))
}

// channelsUsed describes how many of a node's channels are given to jobs: the most in one row.
func channelsUsed(node *scorev1.Node) string {
	if node.GetChannelsUsed() == 0 {
		return "none is given to a job"
	}
	return plural.Of(node.GetChannelsUsed(), "is", "are") + " given to jobs that run together"
}

// linkWord describes what carries channels to other nodes.
func linkWord(node *scorev1.Node) string {
	link := orDash(node.GetLink())
	switch {
	case !strings.HasPrefix(link, "tipc"):
		return link
	case len(node.GetBearers()) == 0:
		return link + ", by no bearer"
	}
	return link + " by " + strings.Join(node.GetBearers(), ", ")
}

func printNodeJSON(out io.Writer, node *scorev1.Node) error {
	return printJSON(out, struct {
		Node nodeData `json:"node"`
	}{newNodeData(node)})
}

// printNode shows a node at the instant now of the leader's clock.
func printNode(out io.Writer, node *scorev1.Node, now int64) error {
	t := newTable(out)
	t.row("node", node.GetName())
	t.row("state", fmt.Sprintf("%s since %s", nodeWord(node), instant(node.GetSinceNanos())))
	if node.GetDrainedBy() != "" {
		t.row("drained", drainWord(node))
	}
	t.row("last heard", lastHeardText(node, now))
	t.row("address", node.GetAddress())
	t.row("version", node.GetVersion())
	t.row("certificate", certificateWord(node))
	t.row("CPUs", cpuWord(node))
	t.row("memory", fmt.Sprintf("%s, of which %s promised to jobs", shortBytes(node.GetMemoryBytes()), gang.FormatMemory(int64(node.GetMemoryUsedBytes()))))
	t.row("channels", fmt.Sprintf("%d at a time, of which %s", node.GetChannels(), channelsUsed(node)))
	t.row("link", linkWord(node))
	t.row("jobs", orDash(jobWords(node.GetJobIds())))
	t.row("clock", fmt.Sprintf("%s, known to %s, round trip %s", offsetWord(time.Duration(node.GetWallOffsetNanos())),
		shortTime(time.Duration(node.GetClockErrorNanos())), shortTime(time.Duration(node.GetRoundTripNanos()))))
	for _, note := range node.GetNotes() {
		t.row("note", note)
	}
	return t.flush()
}

// offsetWord describes how far a node's system clock is from the cluster's.
func offsetWord(d time.Duration) string {
	if d < 0 {
		return shortTime(-d) + " behind the cluster's"
	}
	return shortTime(d) + " before the cluster's"
}

func drainWord(node *scorev1.Node) string {
	text := fmt.Sprintf("by %s at %s", node.GetDrainedBy(), instant(node.GetDrainedNanos()))
	if node.GetDrainRequeue() {
		text += ", with its jobs put back into the queue"
	}
	if node.GetDrainReason() != "" {
		text += ": " + node.GetDrainReason()
	}
	return text
}

func lastHeardText(node *scorev1.Node, now int64) string {
	if node.GetHeardNanos() == 0 {
		return "not by the server that leads now"
	}
	return shortTime(time.Duration(max(now-node.GetHeardNanos(), 0))) + " ago"
}

func certificateWord(node *scorev1.Node) string {
	if node.GetCertificate() == "" {
		return "none; the agent shows the cluster's key"
	}
	return fmt.Sprintf("%s, until %s", node.GetCertificate(), instant(node.GetCertificateExpiresNanos()))
}

// jobWords lists numbers of jobs.
func jobWords(ids []uint64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatUint(id, 10)
	}
	return strings.Join(words, " ")
}
