package messages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"score/channels/link/udp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The bare ping-pong is what the kernel takes for a datagram there and back: two processes that
// do nothing but send and poll. No protocol can be faster.

const (
	bareRole = "bare"
	bareCPU  = "SCORE_BENCH_CPU"
	barePeer = "SCORE_BENCH_PEER" // the other's port; the own socket is descriptor 3
	bareSize = 8
)

// Bare measures the plan's round trips of the smallest size with sockets alone.
func Bare(ctx context.Context, plan Plan) (Curve, error) {
	cpus, err := CPUs()
	if err != nil {
		return Curve{}, err
	}
	var sockets [2]*os.File
	var ports [2]int
	for i := range sockets {
		socket, at, err := udp.Listen(netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			return Curve{}, err
		}
		defer socket.Close()
		sockets[i], ports[i] = socket, int(at.Port())
	}
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	echo := bareProcess(ctx, sockets[1], ports[0], cpus[1], 0)
	if err := echo.Start(); err != nil {
		return Curve{}, err
	}
	ping := bareProcess(ctx, sockets[0], ports[1], cpus[0], plan[0].Rounds)
	ping.Stdout = &out
	err = ping.Run()
	cancel()
	_ = echo.Wait() // it was killed: it echoes for ever
	if err != nil {
		return Curve{}, fmt.Errorf("bare UDP: %w", err)
	}
	return ParseCurve(out.String())
}

// bareProcess is one of the two processes; with rounds 0 it echoes.
func bareProcess(ctx context.Context, socket *os.File, peer, cpu, rounds int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+bareRole, bareCPU+"="+strconv.Itoa(cpu),
		barePeer+"="+strconv.Itoa(peer), planVariable+"="+strconv.Itoa(rounds))
	cmd.ExtraFiles, cmd.Stderr = []*os.File{socket}, os.Stderr
	return cmd
}

func bareRank() error {
	cpu, err1 := strconv.Atoi(os.Getenv(bareCPU))
	port, err2 := strconv.Atoi(os.Getenv(barePeer))
	rounds, err3 := strconv.Atoi(os.Getenv(planVariable))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return os.NewSyscallError("sched_setaffinity", err)
	}
	s := newBareSocket(3, port)
	if rounds == 0 {
		for {
			s.receive()
			s.send()
		}
	}
	s.rounds(rounds / 10)
	start := time.Now()
	s.rounds(rounds)
	_, err := fmt.Printf("%s %d %.2f\n", lineLatency, bareSize, float64(time.Since(start).Nanoseconds())/float64(rounds)/2)
	return err
}

func (s *bareSocket) rounds(count int) {
	for range count {
		s.send()
		s.receive()
	}
}
