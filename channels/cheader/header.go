package main

import (
	"fmt"
	"reflect"
	"score/channels/abi"
	"strings"
	"unicode"
)

const preamble = `/* Layout of a context image, version %d. Written by channels/cheader; do not edit.
 *
 * A context image is the network state of one rank on one channel, mapped by
 * the rank, by the other ranks of its job on the node, and by the node's agent.
 * channels/DESIGN.md describes the protocols on it. All words are little endian;
 * offsets count from the image's first byte. Words that two parties use are
 * to be loaded with acquire and stored with release order at least.
 */
#ifndef SCORE_CHANNEL_H
#define SCORE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

`

// structs in the order of the header, with the comment of each.
var structs = []struct {
	v       any
	comment string
}{
	{abi.Header{}, "Opens the image; written once by its maker. Check a copy of it."},
	{abi.Status{}, "What senders look at before and after each message."},
	{abi.Lock{}, "The driver lock."},
	{abi.Owner{}, "Who plays a role: process first, then agent."},
	{abi.Waiters{}, "Senders that sleep until there is space, by index in the local table."},
	{abi.Lane{}, "Control of a ring with one writer."},
	{abi.Shared{}, "Control of the ring with many writers."},
	{abi.Peer{}, "A rank on another node."},
	{abi.LocalPeer{}, "A rank on the same node, in place of score_peer."},
	{abi.Arrival{}, "A message of several frames that is being put together in the network lane."},
	{abi.Record{}, "Head of a message in a ring; its bytes follow."},
	{abi.Kept{}, "Head of a message in the send buffer; its bytes follow."},
}

// header is the whole text.
func header() string {
	var b strings.Builder
	fmt.Fprintf(&b, preamble, abi.Version)
	for _, c := range constants {
		fmt.Fprintf(&b, "#define %-24s %s\n", c.name, c.value)
	}
	for _, s := range structs {
		b.WriteString(structText(reflect.TypeOf(s.v), s.comment))
	}
	b.WriteString("\n/* Counters: 64-bit words at counters_at. */\n")
	for _, c := range abi.Counters {
		fmt.Fprintf(&b, "#define SCORE_COUNTER_%-16s %2d /* %s: %s */\n", strings.ToUpper(c.Name), c.ID, c.Unit, c.Meaning)
	}
	b.WriteString("\n#endif\n")
	return b.String()
}

var constants = []struct{ name, value string }{
	{"SCORE_MAGIC", fmt.Sprintf("UINT64_C(%#x)", abi.Magic)},
	{"SCORE_VERSION", fmt.Sprint(abi.Version)},
	{"SCORE_LINE_BYTES", fmt.Sprint(abi.LineBytes)},
	{"SCORE_RECORD_BYTES", fmt.Sprint(abi.RecordBytes)},
	{"SCORE_PEER_BYTES", fmt.Sprint(abi.PeerBytes)},
	{"SCORE_STATE_OPEN", fmt.Sprint(abi.StateOpen)},
	{"SCORE_STATE_CLOSED", fmt.Sprint(abi.StateClosed)},
	{"SCORE_STATE_GONE", fmt.Sprint(abi.StateGone)},
	{"SCORE_FLOW_NACK", fmt.Sprint(abi.FlowNack)},
	{"SCORE_FLOW_CREDITS", fmt.Sprint(abi.FlowCredits)},
	{"SCORE_WAIT_NONE", fmt.Sprint(abi.WaitNone)},
	{"SCORE_WAIT_MESSAGE", fmt.Sprint(abi.WaitMessage)},
	{"SCORE_WAIT_SPACE", fmt.Sprint(abi.WaitSpace)},
	{"SCORE_WAIT_TIMED", fmt.Sprint(abi.WaitTimed)},
	{"SCORE_ROLE_PROCESS", fmt.Sprint(abi.RoleProcess)},
	{"SCORE_ROLE_AGENT", fmt.Sprint(abi.RoleAgent)},
	{"SCORE_PROGRESS_LOST", fmt.Sprintf("UINT32_C(%#x)", abi.ProgressLost)},
	{"SCORE_KIND_DATA", fmt.Sprint(abi.KindData)},
	{"SCORE_KIND_GROWING", fmt.Sprint(abi.KindGrowing)},
	{"SCORE_KIND_PAD", fmt.Sprint(abi.KindPad)},
	{"SCORE_KIND_LANE", fmt.Sprint(abi.KindLane)},
	{"SCORE_KIND_RESERVED", fmt.Sprint(abi.KindReserved)},
	{"SCORE_KIND_LANE_END", fmt.Sprint(abi.KindLaneEnd)},
	{"SCORE_LANE_END_BYTES", fmt.Sprint(abi.LaneEndBytes)},
	{"SCORE_LANE_WITHHELD", fmt.Sprintf("UINT64_C(%#x)", abi.LaneWithheld)},
}

// structText is a C struct, and checks that its compiler lays it out the same.
func structText(t reflect.Type, comment string) string {
	var b strings.Builder
	name := "score_" + snakeCase(t.Name())
	fmt.Fprintf(&b, "\n/* %s */\nstruct %s {\n", comment, name)
	pads := 0
	for i := range t.NumField() {
		f := t.Field(i)
		field := snakeCase(f.Name)
		if f.Name == "_" {
			field = fmt.Sprintf("pad%d", pads)
			pads++
		}
		fmt.Fprintf(&b, "\t%s;\n", declaration(f.Type, field))
	}
	fmt.Fprintf(&b, "};\n_Static_assert(sizeof(struct %s) == %d, \"%s\");\n", name, t.Size(), name)
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" {
			fmt.Fprintf(&b, "_Static_assert(offsetof(struct %s, %s) == %d, \"%s\");\n", name, snakeCase(f.Name), f.Offset, snakeCase(f.Name))
		}
	}
	return b.String()
}

// declaration is the C of a field.
func declaration(t reflect.Type, name string) string {
	if t.Kind() == reflect.Array {
		return declaration(t.Elem(), fmt.Sprintf("%s[%d]", name, t.Len()))
	}
	return fmt.Sprintf("%s_t %s", t.Kind(), name)
}

// snakeCase turns LaneBytes into lane_bytes.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
