package cli

import (
	"fmt"
	"score/scored/api/scorev1"
	"strings"
	"time"
)

const (
	// slowAnswer is a quarter of the leader's lease: after the lease without answers it steps down.
	slowAnswer = 100 * time.Millisecond
	// behindEntries is how many entries a follower of a busy leader may lack without being slow:
	// the entries of some tenths of a second.
	behindEntries = 1000
	// slowWrite is the shortest write that users notice.
	slowWrite = time.Second
	// fullPart and fullBytes are the free space below which a disk is nearly full. Both must be
	// undercut, since a twentieth of a large disk lasts for years.
	fullPart  = 0.05
	fullBytes = 1 << 30
)

// serverData is a server as --json shows it.
type serverData struct {
	Name           string    `json:"name"`
	Address        string    `json:"address"`
	Leader         bool      `json:"leader"`
	Voter          bool      `json:"voter"`
	Health         string    `json:"health"`
	SilentNanos    int64     `json:"silent_nanos"`
	BehindEntries  uint64    `json:"behind_entries"`
	RoundTripNanos int64     `json:"round_trip_nanos"`
	Disk           *diskData `json:"disk,omitempty"`
	// Version and the protocols are set if the server answers.
	Version        string `json:"version,omitempty"`
	ProtocolOldest uint32 `json:"protocol_oldest,omitempty"`
	ProtocolNewest uint32 `json:"protocol_newest,omitempty"`
}

type diskData struct {
	SlowestWriteNanos int64  `json:"slowest_write_nanos"`
	FreeBytes         uint64 `json:"free_bytes"`
	SizeBytes         uint64 `json:"size_bytes"`
}

func serverDataOf(s *scorev1.Server) serverData {
	data := serverData{
		Name: s.GetName(), Address: s.GetAddress(), Leader: s.GetLeader(), Voter: s.GetVoter(), Health: serverHealth(s),
		SilentNanos: s.GetSilentNanos(), BehindEntries: s.GetBehindEntries(), RoundTripNanos: s.GetRoundTripNanos(),
		Version: s.GetProgram().GetBuild(), ProtocolOldest: s.GetProgram().GetProtocolOldest(), ProtocolNewest: s.GetProgram().GetProtocolNewest(),
	}
	if d := s.GetDisk(); d != nil {
		data.Disk = &diskData{d.GetSlowestWriteNanos(), d.GetFreeBytes(), d.GetSizeBytes()}
	}
	return data
}

// serverHealth describes everything that is wrong with a server.
func serverHealth(s *scorev1.Server) string {
	if silent := time.Duration(s.GetSilentNanos()); silent > 0 {
		return "unreachable for " + silent.Round(time.Second).String()
	}
	var wrong []string
	if took := time.Duration(s.GetRoundTripNanos()); took >= slowAnswer {
		wrong = append(wrong, "slow, answers take "+took.Round(time.Millisecond).String())
	}
	if behind := s.GetBehindEntries(); behind >= behindEntries || behind > 0 && !s.GetVoter() {
		wrong = append(wrong, fmt.Sprint("behind ", behind))
	}
	if s.GetDisk() == nil {
		wrong = append(wrong, "no answer about its disk")
	} else if trouble := diskTrouble(s.GetDisk()); trouble != "" {
		wrong = append(wrong, trouble)
	}
	if len(wrong) == 0 {
		return "healthy"
	}
	return strings.Join(wrong, "; ")
}

func diskTrouble(d *scorev1.Disk) string {
	free, size := d.GetFreeBytes(), d.GetSizeBytes()
	if size > 0 && free < fullBytes && float64(free) < fullPart*float64(size) {
		return "disk nearly full, " + shortBytes(free) + " free"
	}
	if took := time.Duration(d.GetSlowestWriteNanos()); took >= slowWrite {
		return "disk slow, " + took.Round(100*time.Millisecond).String()
	}
	return ""
}
