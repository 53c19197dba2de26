package daemons

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// scrapeTimeout bounds one look at an agent's metrics; one that is stopped does not answer.
const scrapeTimeout = time.Second

// Metric gives the sum of an agent's metric over all labels that begin so, like
// score_agent_connected or score_agent_flushes_total{kind="clean".
func (d *Daemon) Metric(name string) (sum float64, err error) {
	client := http.Client{Timeout: scrapeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get(d.Metrics)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	found := false
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, name) {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+value, true
	}
	if !found && lines.Err() == nil {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return sum, lines.Err()
}
