package cli

import "score/scored/api/scorev1"

// topData is a frame of top as --json prints it.
type topData struct {
	NowNanos    int64        `json:"now_nanos"`
	Cluster     string       `json:"cluster"`
	Nodes       uint32       `json:"nodes"`
	NodesUp     uint32       `json:"nodes_up"`
	PlanVersion uint64       `json:"plan_version"`
	RowOn       int32        `json:"row_on"`
	Rows        []rowData    `json:"rows"`
	Jobs        []topJobData `json:"jobs"`
	JobsLeftOut uint32       `json:"jobs_left_out"`
	ToRunning   *stepsData   `json:"to_running,omitempty"`
	Skew        *stepsData   `json:"skew,omitempty"`
}

type topJobData struct {
	ID              uint64     `json:"id"`
	Name            string     `json:"name"`
	User            string     `json:"user"`
	State           string     `json:"state"`
	Hold            *holdData  `json:"hold,omitempty"`
	Ranks           uint32     `json:"ranks"`
	Nodes           uint32     `json:"nodes"`
	Row             int32      `json:"row"`
	On              bool       `json:"on"`
	Share           float64    `json:"share"`
	SentPerSecond   float64    `json:"sent_per_second"`
	BytesPerSecond  float64    `json:"bytes_per_second"`
	NackedPerSecond float64    `json:"nacked_per_second"`
	ResentPerSecond float64    `json:"resent_per_second"`
	Flush           *stepsData `json:"flush,omitempty"`
	Total           *stepsData `json:"total,omitempty"`
	Usage           usageData  `json:"usage"`
}

func newTopData(top *scorev1.GetTopResponse) topData {
	on := jobsOn(top.GetMatrix())
	data := topData{
		NowNanos: top.GetNowNanos(), Cluster: top.GetCluster(), Nodes: top.GetNodes(), NodesUp: top.GetNodesUp(),
		PlanVersion: top.GetMatrix().GetPlanVersion(), RowOn: top.GetMatrix().GetRowOn(), Rows: newRowsData(top.GetMatrix()),
		Jobs: make([]topJobData, 0, len(top.GetJobs())), JobsLeftOut: top.GetJobsLeftOut(),
		ToRunning: newStepsData(top.GetToRunning()), Skew: newStepsData(top.GetSkew()),
	}
	for _, j := range top.GetJobs() {
		data.Jobs = append(data.Jobs, topJobData{
			ID:              j.GetJobId(),
			Name:            j.GetName(),
			User:            j.GetUser(),
			State:           jobStateWord(j),
			Hold:            newHoldData(j.GetHold()),
			Ranks:           j.GetRanks(),
			Nodes:           j.GetNodes(),
			Row:             j.GetRow(),
			On:              on[j.GetJobId()],
			Share:           j.GetShare(),
			SentPerSecond:   j.GetSentPerSecond(),
			BytesPerSecond:  j.GetBytesPerSecond(),
			NackedPerSecond: j.GetNackedPerSecond(),
			ResentPerSecond: j.GetResentPerSecond(),
			Flush:           newStepsData(j.GetFlush()),
			Total:           newStepsData(j.GetTotal()),
			Usage:           newUsageData(j.GetUsage()),
		})
	}
	return data
}
