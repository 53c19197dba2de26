package main

import (
	"cmp"
	"fmt"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"strings"
)

// describeJob returns the job's state in a few words, then the ranks grouped by state. The first ^C
// and -v print it.
func describeJob(job *scorev1.Job, ranks []*scorev1.RankState) []string {
	lines := []string{fmt.Sprintf("job %d %s", job.GetId(), stateWords(job))}
	if len(ranks) == 0 {
		return lines
	}
	for _, group := range groupRanks(ranks) {
		lines = append(lines, fmt.Sprintf("%s %s on %s %s", plural.Word(len(group.ranks), "rank", "ranks"), rankList(group.ranks), group.node, group.state))
	}
	return lines
}

func stateWords(job *scorev1.Job) string {
	switch job.GetState() {
	case scorev1.JobState_JOB_STATE_QUEUED:
		if why := job.GetWaitingFor(); why != "" {
			return "waits for " + why
		}
		return "waits for its turn"
	case scorev1.JobState_JOB_STATE_STARTING:
		return "is being started on " + placeWords(job.GetPlaces())
	case scorev1.JobState_JOB_STATE_RUNNING:
		return "runs on " + placeWords(job.GetPlaces())
	case scorev1.JobState_JOB_STATE_ENDING:
		return "is being ended"
	case scorev1.JobState_JOB_STATE_DONE:
		return "has ended"
	default:
		return "is in a state that this scrun does not know"
	}
}

// placeWords returns the nodes with their ranks: "n1 (ranks 0-3), n2 (ranks 4-7)".
func placeWords(places []*scorev1.NodePlace) string {
	if len(places) == 0 {
		return "its nodes"
	}
	words := make([]string, 0, len(places))
	for _, place := range places {
		ranks := place.GetRanks()
		words = append(words, fmt.Sprintf("%s (%s %s)", place.GetNode(), plural.Word(len(ranks), "rank", "ranks"), rankList(ranks)))
	}
	return strings.Join(words, ", ")
}

// rankGroup holds the ranks of one node in one state.
type rankGroup struct {
	node, state string
	ranks       []uint32
}

// groupRanks groups ranks by node and state. It orders the groups by their lowest rank.
func groupRanks(ranks []*scorev1.RankState) []*rankGroup {
	groups := make(map[[2]string]*rankGroup)
	for _, rank := range ranks {
		key := [2]string{rank.GetNode(), client.RankWords(rank)}
		if groups[key] == nil {
			groups[key] = &rankGroup{node: key[0], state: key[1]}
		}
		groups[key].ranks = append(groups[key].ranks, rank.GetRank())
	}
	ordered := make([]*rankGroup, 0, len(groups))
	for _, group := range groups {
		slices.Sort(group.ranks)
		ordered = append(ordered, group)
	}
	slices.SortFunc(ordered, func(a, b *rankGroup) int { return cmp.Compare(a.ranks[0], b.ranks[0]) })
	return ordered
}

// rankList formats ascending numbers as ranges: "0-3,7".
func rankList(ranks []uint32) string {
	var out strings.Builder
	for i := 0; i < len(ranks); {
		last := i
		for last+1 < len(ranks) && ranks[last+1] == ranks[last]+1 {
			last++
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.FormatUint(uint64(ranks[i]), 10))
		if last > i {
			out.WriteString("-" + strconv.FormatUint(uint64(ranks[last]), 10))
		}
		i = last + 1
	}
	return out.String()
}
