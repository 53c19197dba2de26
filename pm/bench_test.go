package pm_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"score/channels/abi"
	"score/pm"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func init() {
	roles["pingpong"] = pingPong
	roles["stream"] = stream
}

// benchSizes are the message sizes of the curves.
var benchSizes = []int{8, 64, 256, 1024, 4096, 8192, 16384, 65536}

var rounds = flag.Int("pm.rounds", 5, "how often a benchmark measures each size; it reports the median")

// pingPong measures half a round trip. Rank 0 prints "size nanoseconds" per size and round.
func pingPong(ch *pm.Channel) error {
	n, err := strconv.Atoi(os.Getenv("PM_BENCH_N"))
	if err != nil {
		return err
	}
	data := make([]byte, 65536)
	for range n { // until sending is at its full speed: see channels.SpeedUp
		if err := bounce(ch, data[:8]); err != nil {
			return err
		}
	}
	for _, size := range sizes() {
		for range n / 10 {
			if err := bounce(ch, data[:size]); err != nil {
				return err
			}
		}
		start := time.Now()
		for range n {
			if err := bounce(ch, data[:size]); err != nil {
				return err
			}
		}
		if ch.Rank() == 0 {
			fmt.Printf("%d %.1f\n", size, float64(time.Since(start).Nanoseconds())/float64(n)/2)
		}
	}
	return nil
}

func bounce(ch *pm.Channel, data []byte) error {
	if ch.Rank() == 0 {
		if err := ch.SendBytes(1, data); err != nil {
			return err
		}
	}
	m, err := spinReceive(ch)
	if err != nil {
		return err
	}
	if _, err := m.CopyTo(data); err != nil {
		return err
	}
	if err := ch.ReleaseReceiveBuffer(m); err != nil {
		return err
	}
	if ch.Rank() == 1 {
		return ch.SendBytes(0, data)
	}
	return nil
}

func spinReceive(ch *pm.Channel) (pm.Message, error) {
	for {
		m, err := ch.Receive()
		if err != pm.ErrEmpty { //nolint:errorlint // Receive returns this very value
			return m, err
		}
	}
}

// stream measures the rate from rank 0 to rank 1; rank 1 answers when it has all.
func stream(ch *pm.Channel) error {
	n, err := strconv.Atoi(os.Getenv("PM_BENCH_N"))
	if err != nil {
		return err
	}
	data := make([]byte, 65536)
	for _, size := range sizes() {
		count := max(n/max(1, size/256), 1000)
		start := time.Now()
		if ch.Rank() == 0 {
			for range count {
				if err := sendAll(ch, 1, data[:size]); err != nil {
					return err
				}
			}
			m, err := spinReceive(ch)
			if err != nil {
				return err
			}
			if err := ch.ReleaseReceiveBuffer(m); err != nil {
				return err
			}
			fmt.Printf("%d %.1f\n", size, float64(time.Since(start).Nanoseconds())/float64(count))
			continue
		}
		sum := uint64(0)
		for range count {
			m, err := spinReceive(ch)
			if err != nil {
				return err
			}
			if size == 8 {
				b, _ := m.Bytes()
				sum += binary.LittleEndian.Uint64(b)
			} else if _, err := m.CopyTo(data); err != nil {
				return err
			}
			if err := ch.ReleaseReceiveBuffer(m); err != nil {
				return err
			}
		}
		if sum != 0 {
			return errors.New("the messages were all zero")
		}
		if err := ch.SendBytes(0, nil); err != nil {
			return err
		}
	}
	return nil
}

func sendAll(ch *pm.Channel, to int, data []byte) error {
	for {
		err := ch.SendBytes(to, data)
		if err != pm.ErrFull { //nolint:errorlint // SendBytes returns this very value
			return err
		}
	}
}

func sizes() []int {
	if text := os.Getenv("PM_BENCH_SIZES"); text != "" {
		var list []int
		for _, f := range strings.Split(text, ",") {
			n, _ := strconv.Atoi(f)
			list = append(list, n)
		}
		return list
	}
	return benchSizes
}

// runCurve runs a role on two pinned processes several times and returns
// the median of each size.
func runCurve(b *testing.B, geometry abi.Geometry, role string, n int) map[int]float64 {
	all := map[int][]float64{}
	for range *rounds {
		out, err := os.CreateTemp(b.TempDir(), "curve")
		if err != nil {
			b.Fatal(err)
		}
		stdout := os.Stdout
		os.Stdout = out
		g := startShaped(b, geometry, 2, role, []int{0, 1}, "PM_BENCH_N="+strconv.Itoa(n))
		os.Stdout = stdout
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			b.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var size int
			var ns float64
			if _, err := fmt.Sscan(line, &size, &ns); err != nil {
				b.Fatal(err)
			}
			all[size] = append(all[size], ns)
		}
	}
	medians := map[int]float64{}
	for size, values := range all {
		slices.Sort(values)
		medians[size] = values[len(values)/2]
		b.Logf("%6d bytes: min %.0f median %.0f max %.0f ns", size, values[0], medians[size], values[len(values)-1])
	}
	return medians
}

func BenchmarkLatency(b *testing.B) {
	for size, ns := range runCurve(b, abi.Geometry{}, "pingpong", 50000) {
		b.ReportMetric(ns, fmt.Sprintf("ns/%dB", size))
	}
}

func BenchmarkStream(b *testing.B) {
	for size, ns := range runCurve(b, abi.Geometry{}, "stream", 500000) {
		if size == 8 {
			b.ReportMetric(1e3/ns, "M/s")
		}
		b.ReportMetric(float64(size)/ns, fmt.Sprintf("GB/s/%dB", size))
	}
}

// BenchmarkShared is the way of senders that have no lane: all write one ring.
func BenchmarkShared(b *testing.B) {
	shared := abi.Geometry{Lanes: 1}
	b.ReportMetric(runCurve(b, shared, "pingpong", 20000)[8], "ns/8B")
	b.ReportMetric(1e3/runCurve(b, shared, "stream", 200000)[8], "M/s")
}
