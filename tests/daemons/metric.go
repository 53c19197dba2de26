package daemons

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scrapeTimeout bounds one scrape of an agent's metrics: a stopped agent does not answer.
const scrapeTimeout = time.Second

// Metric returns the sum of an agent's metrics with names and labels that begin like name, as
// score_agent_connected or score_agent_flushes_total{kind="clean".
func (d *Daemon) Metric(name string) (float64, error) {
	sums, err := d.MetricsOf(name)
	if err != nil {
		return 0, err
	}
	return sums[0], nil
}

// MetricsOf returns several metrics as Metric does, from one request.
func (d *Daemon) MetricsOf(names ...string) (sums []float64, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if network := d.cluster.Network; network != nil {
		transport.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
			return network.dial(ctx, d.Name, address)
		}
	}
	client := http.Client{Timeout: scrapeTimeout, Transport: transport}
	reply, err := client.Get(d.Metrics)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	sums = make([]float64, len(names))
	found := make([]bool, len(names))
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		line := lines.Text()
		for i, name := range names {
			if !strings.HasPrefix(line, name) {
				continue
			}
			value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				return nil, err
			}
			sums[i], found[i] = sums[i]+value, true
		}
	}
	if i := slices.Index(found, false); i >= 0 && lines.Err() == nil {
		return nil, fmt.Errorf("there is no metric %s", names[i])
	}
	return sums, lines.Err()
}
