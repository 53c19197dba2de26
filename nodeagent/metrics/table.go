package metrics

// ID names a counter.
type ID uint8

// The counters; Table has their meanings.
const (
	Launches ID = iota
	ExitsClean
	ExitsCode
	ExitsSignal
	ExitsMemory
	ExitsKilled
	Switches
	MissedBoundaries
	LateFreezes
	DroppedBoundaries
	LostNotices
	OutputBytes
	FailuresReceived
	Respawns
	DatagramsSent
	DatagramsReceived
	DatagramBytesSent
	DatagramBytesReceived
	DatagramsDropped
	Drives
	FlushesClean
	FlushesCutOff
	FlushesHeld
	KeyBytesPlain
	KeyBytesPacked

	idCount
)

// Info describes a counter.
type Info struct {
	ID   ID
	Name string
	// Kind is the value of the label "kind", which distinguishes counters with the same name.
	Kind          string
	Meaning, Unit string
}

// Table describes every counter, in the order of the ids.
var Table = [idCount]Info{
	{Launches, "score_agent_launches_total", "", "Jobs whose ranks were started here.", "jobs"},
	{ExitsClean, "score_agent_rank_exits_total", "clean", meaningExits, "ranks"},
	{ExitsCode, "score_agent_rank_exits_total", "code", meaningExits, "ranks"},
	{ExitsSignal, "score_agent_rank_exits_total", "signal", meaningExits, "ranks"},
	{ExitsMemory, "score_agent_rank_exits_total", "memory", meaningExits, "ranks"},
	{ExitsKilled, "score_agent_rank_exits_total", "killed", meaningExits, "ranks"},
	{Switches, "score_agent_switches_total", "", "Switches that ran to their end.", "switches"},
	{MissedBoundaries, "score_agent_boundaries_missed_total", "", "Boundaries with a switch that passed before the agent woke.", "boundaries"},
	{LateFreezes, "score_agent_freezes_late_total", "", "Freezes that did not come in time; the switch went on without them.", "freezes"},
	{
		DroppedBoundaries,
		"score_agent_boundaries_unreported_total",
		"",
		"Boundaries that were not reported to the leader, because there were too many.",
		"boundaries",
	},
	{LostNotices, "score_agent_notices_lost_total", "", "Notices of the switching thread that were dropped, because none was read in time.", "notices"},
	{OutputBytes, "score_agent_output_bytes_total", "", "Output of ranks that was relayed to servers.", "bytes"},
	{FailuresReceived, "score_agent_failures_received_total", "", "Failures of jobs on other nodes that this node was informed of.", "failures"},
	{Respawns, "score_agent_respawns_total", "", "Ranks that had failed and were started again.", "ranks"},
	{DatagramsSent, "score_agent_datagrams_total", "sent", meaningDatagrams, "datagrams"},
	{DatagramsReceived, "score_agent_datagrams_total", "received", meaningDatagrams, "datagrams"},
	{DatagramBytesSent, "score_agent_datagram_bytes_total", "sent", "Bytes of those datagrams.", "bytes"},
	{DatagramBytesReceived, "score_agent_datagram_bytes_total", "received", "Bytes of those datagrams.", "bytes"},
	{DatagramsDropped, "score_agent_datagrams_dropped_total", "", "Datagrams that the system did not accept from the agent.", "datagrams"},
	{Drives, "score_agent_channel_drives_total", "", "Times that the agent drove a channel whose program did not.", "times"},
	{FlushesClean, "score_agent_flushes_total", "clean", meaningFlushes, "channels"},
	{FlushesCutOff, "score_agent_flushes_total", "cut_off", meaningFlushes, "channels"},
	{FlushesHeld, "score_agent_flushes_total", "held", meaningFlushes, "channels"},
	{KeyBytesPlain, "score_agent_fence_bytes_total", "plain", meaningKeys, "bytes"},
	{KeyBytesPacked, "score_agent_fence_bytes_total", "packed", meaningKeys, "bytes"},
}

const meaningFlushes = "Channels that left the network with their gang: clean, with everything answered; cut off, with something unanswered; held, which did not leave, since the program was stopped in the middle of a section."

const meaningKeys = "Keys and values that the ranks here gave to fences of several nodes: plain, as lines of text; packed, as they went to the other nodes."

const meaningDatagrams = "Datagrams between nodes that the agent sent and received, for its own directory and for ranks that did not drive their channels."

const meaningExits = "Ranks that ended: clean, with another exit code, by a signal, for want of memory, killed by the system."

// Gauges are the values that are read at each scrape.
type Gauges struct {
	Jobs         int
	WarmStewards int
	Connected    bool
	Channels     int // contexts
	// Clock, in seconds.
	ClockOffset, ClockError, RoundTrip float64
}

// gaugeInfo describes a gauge.
type gaugeInfo struct {
	name, meaning string
	value         func(Gauges) float64
}

var gaugeTable = []gaugeInfo{
	{"score_agent_jobs", "Jobs that have a part on this node.", func(g Gauges) float64 { return float64(g.Jobs) }},
	{"score_agent_stewards_warm", "Stewards that wait for a job.", func(g Gauges) float64 { return float64(g.WarmStewards) }},
	{"score_agent_channels", "Channels of ranks that exist on this node.", func(g Gauges) float64 { return float64(g.Channels) }},
	{"score_agent_connected", "1 while there is a stream to the leader.", func(g Gauges) float64 { return oneIf(g.Connected) }},
	{"score_agent_clock_offset_seconds", "The leader's clock minus this machine's monotonic clock.", func(g Gauges) float64 { return g.ClockOffset }},
	{"score_agent_clock_error_seconds", "Bound on the error of the offset.", func(g Gauges) float64 { return g.ClockError }},
	{"score_agent_clock_round_trip_seconds", "Round trip of the heartbeat that gave the offset.", func(g Gauges) float64 { return g.RoundTrip }},
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
