package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link"
	"score/pm"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// First arguments that make this program a rank.
const (
	spinRank    = "spin-rank"    // computes until it is killed
	hostileRank = "hostile-rank" // attacks what it reaches until it is killed
	pingRank    = "ping-rank"    // bounces a number between two ranks, as often as the second argument says
)

// rankRoles are the ranks and helpers of groups, by their first argument.
var rankRoles = map[string]func(args []string) error{
	spinRank: func([]string) error {
		spin()
		return nil
	},
	hostileRank: attack,
	storeRank:   readerRole,
	socketRole:  socketPeer,
	timerRole:   timerThread,
	peersRole:   socketPeers,
	roundRank:   func(args []string) error { return rounds(args, os.Stdout) },
	stepRank:    func(args []string) error { return steps(args, os.Stdout) },
	pingRank: func(args []string) error {
		rounds, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return bounce(uint64(rounds))
	},
}

func spin() {
	for x := new(atomic.Uint64); ; {
		x.Add(1)
	}
}

// bounce checks every number that comes.
func bounce(rounds uint64) error {
	c, err := pm.Open(1)
	if err != nil {
		return err
	}
	other := 1 - c.Rank()
	var number [8]byte
	for i := range rounds {
		if c.Rank() == 0 {
			binary.LittleEndian.PutUint64(number[:], i)
			if err := sendPatiently(c, other, number[:]); err != nil {
				return err
			}
		}
		got, err := nextNumber(c)
		if err != nil {
			return err
		}
		if got != i {
			return fmt.Errorf("rank %d: %d came for %d", c.Rank(), got, i)
		}
		if c.Rank() == 1 {
			binary.LittleEndian.PutUint64(number[:], got)
			if err := sendPatiently(c, other, number[:]); err != nil {
				return err
			}
		}
	}
	return c.Close()
}

func sendPatiently(c *pm.Channel, to int, data []byte) error {
	for {
		err := c.SendBytes(to, data)
		if !errors.Is(err, pm.ErrFull) {
			return err
		}
		if err := c.WaitSpace(context.Background(), to, len(data)); err != nil {
			return err
		}
	}
}

func nextNumber(c *pm.Channel) (uint64, error) {
	if err := c.Wait(context.Background()); err != nil {
		return 0, err
	}
	m, err := c.Receive()
	if err != nil {
		return 0, err
	}
	data, err := m.Bytes()
	if err != nil {
		return 0, err
	}
	number := binary.LittleEndian.Uint64(data)
	return number, c.ReleaseReceiveBuffer(m)
}

// attack does what is named, or all it can at once: it takes every channel, holds a driver lock,
// scribbles in its own and its peers' contexts, floods all UDP ports of the machine with noise and
// with datagrams of its own job, and opens and closes connections to the agent.
func attack(how []string) error {
	chosen := func(what string) bool { return len(how) == 0 || slices.Contains(how, what) }
	path := os.Getenv(pm.EnvPath)
	conn, err := handover.Dial(path)
	if err != nil {
		return err
	}
	client := handover.NewClient(conn)
	var images []*channels.Image
	for channel := range uint32(handover.Channels) {
		img, err := client.Image(channel, handover.Own)
		if err != nil {
			return err
		}
		images = append(images, img)
		if socket, places, err := client.Network(channel); err == nil {
			defer socket.Close()
			defer places.Close()
		}
	}
	me, err := channels.Self()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(spin)
	if chosen("hold") {
		images[1].SetOwner(abi.RoleProcess, me)
		_ = images[1].Enter() // for ever
	}
	if chosen("scribble") {
		for _, img := range images[2:] {
			all.Go(func() { scribble(img.File()) })
		}
	}
	if chosen("flood") {
		all.Go(func() { floodPorts(images[1].Identity) })
	}
	if chosen("knock") {
		all.Go(func() { knock(path) })
	}
	return nil
}

// scribble writes noise all over the file.
func scribble(file *os.File) {
	info, err := file.Stat()
	if err != nil {
		return
	}
	mem, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	const control = 1 << 16 // where the words are that others trust most
	for {
		at := rand.IntN(len(mem) - 8)
		if rand.IntN(4) > 0 {
			at = rand.IntN(min(control, len(mem)) - 8)
		}
		binary.LittleEndian.PutUint64(mem[at:], rand.Uint64()>>rand.IntN(64))
	}
}

// floodPorts sends datagrams to all ports in turn.
func floodPorts(id channels.Identity) {
	socket, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return
	}
	defer func() { _ = socket.Close() }()
	buf := make([]byte, link.MinDatagram)
	for {
		for _, to := range udpPorts() {
			for range 64 {
				_, _ = socket.WriteToUDPAddrPort(datagram(buf, id), to) // a full queue is what is wanted
			}
		}
	}
}

// datagram is noise, or says something in the job's own name.
func datagram(buf []byte, id channels.Identity) []byte {
	if rand.IntN(2) == 0 {
		for i := range buf {
			buf[i] = byte(rand.Uint32())
		}
		return buf
	}
	var w link.Writer
	w.Begin(buf, len(buf), &link.Head{
		Kind: link.Kind(1 + rand.IntN(6)), Job: id.Job, Channel: rand.Uint32N(handover.Channels), From: rand.Uint32N(3), To: rand.Uint32N(3),
		Status: uint8(rand.Uint32N(4)), Port: uint16(rand.Uint32()),
	})
	return buf[:w.Finish(0)]
}

// udpPorts are all bound ones, of whomever.
func udpPorts() (ports []netip.AddrPort) {
	file, err := os.Open("/proc/net/udp")
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		_, port, _ := strings.Cut(fields[1], ":")
		if n, err := strconv.ParseUint(port, 16, 16); err == nil && n > 1023 {
			ports = append(ports, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(n)))
		}
	}
	return ports
}

// knock opens and closes connections, some with a question.
func knock(path string) {
	for {
		conn, err := handover.Dial(path)
		if err != nil {
			continue
		}
		if rand.IntN(2) == 0 {
			_, _ = conn.Write([]byte("give me everything, please"))
		}
		_ = conn.Close()
	}
}
