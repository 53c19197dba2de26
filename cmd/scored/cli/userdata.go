package cli

import (
	"io"
	"score/scored/api/scorev1"
)

// userData is a user as --json prints it. CPU times are in microseconds; a limit of 0 means none.
type userData struct {
	UID          uint32     `json:"uid"`
	Name         string     `json:"name"`
	Role         string     `json:"role"`
	Share        uint32     `json:"share"`
	Limits       limitsData `json:"limits"`
	Jobs         uint32     `json:"jobs"`
	Running      uint32     `json:"running"`
	CPUs         uint32     `json:"cpus"`
	JobsEnded    uint64     `json:"jobs_ended"`
	CPUMicros    uint64     `json:"cpu_micros"`
	HeldMicros   uint64     `json:"held_micros"`
	RecentMicros uint64     `json:"recent_micros"`
	Points       int32      `json:"points"`
}

type limitsData struct {
	Jobs          uint32 `json:"jobs"`
	Running       uint32 `json:"running"`
	CPUs          uint32 `json:"cpus"`
	MemoryPerNode uint64 `json:"memory_per_node_bytes"`
	TimeNanos     int64  `json:"time_nanos"`
	Priority      int32  `json:"priority"`
}

func newUserData(u *scorev1.User) userData {
	l := u.GetLimits()
	return userData{
		UID: u.GetUid(), Name: u.GetName(), Role: roleWord(u.GetRole()), Share: u.GetShare(),
		Limits: limitsData{l.GetJobs(), l.GetRunning(), l.GetCpus(), l.GetMemoryPerNodeBytes(), l.GetTimeNanos(), l.GetPriority()},
		Jobs:   u.GetJobs(), Running: u.GetRunning(), CPUs: u.GetCpus(), JobsEnded: u.GetJobsEnded(),
		CPUMicros: u.GetCpuMicros(), HeldMicros: u.GetHeldMicros(), RecentMicros: u.GetRecentMicros(), Points: u.GetPoints(),
	}
}

func printUsersJSON(out io.Writer, users []*scorev1.User) error {
	return printJSONList(out, "users", users, newUserData)
}
