/* Layout of a context image, version 2. Written by channels/cheader; do not edit.
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

#define SCORE_MAGIC              UINT64_C(0x78746345524f4353)
#define SCORE_VERSION            2
#define SCORE_LINE_BYTES         64
#define SCORE_RECORD_BYTES       16
#define SCORE_PEER_BYTES         128
#define SCORE_STATE_OPEN         0
#define SCORE_STATE_CLOSED       1
#define SCORE_STATE_GONE         2
#define SCORE_FLOW_NACK          0
#define SCORE_FLOW_CREDITS       1
#define SCORE_WAIT_NONE          0
#define SCORE_WAIT_MESSAGE       1
#define SCORE_WAIT_SPACE         2
#define SCORE_WAIT_TIMED         3
#define SCORE_ROLE_PROCESS       1
#define SCORE_ROLE_AGENT         2
#define SCORE_PROGRESS_LOST      UINT32_C(0xffffffff)
#define SCORE_KIND_DATA          1
#define SCORE_KIND_GROWING       2
#define SCORE_KIND_PAD           3
#define SCORE_KIND_LANE          4
#define SCORE_KIND_RESERVED      5
#define SCORE_KIND_LANE_END      6
#define SCORE_LANE_END_BYTES     8
#define SCORE_LANE_WITHHELD      UINT64_C(0xffffffffffffffff)

/* Opens the image; written once by its maker. Check a copy of it. */
struct score_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint64_t total_bytes;
	uint64_t job;
	uint32_t rank;
	uint32_t ranks;
	uint32_t channel;
	uint32_t local_ranks;
	uint32_t lanes;
	uint32_t lane_bytes;
	uint32_t shared_bytes;
	uint32_t send_bytes;
	uint32_t max_message;
	uint32_t net_bytes;
	uint64_t status_at;
	uint64_t lock_at;
	uint64_t owners_at;
	uint64_t waiters_at;
	uint64_t counters_at;
	uint64_t lanes_at;
	uint64_t shared_at;
	uint64_t local_at;
	uint64_t active_at;
	uint64_t peers_at;
	uint64_t arrivals_at;
	uint64_t granules_at;
	uint64_t send_at;
	uint64_t shared_ring;
	uint64_t net_ring;
	uint64_t lane_rings;
	uint32_t flow;
	uint32_t pad0;
};
_Static_assert(sizeof(struct score_header) == 208, "score_header");
_Static_assert(offsetof(struct score_header, magic) == 0, "magic");
_Static_assert(offsetof(struct score_header, version) == 8, "version");
_Static_assert(offsetof(struct score_header, header_bytes) == 12, "header_bytes");
_Static_assert(offsetof(struct score_header, total_bytes) == 16, "total_bytes");
_Static_assert(offsetof(struct score_header, job) == 24, "job");
_Static_assert(offsetof(struct score_header, rank) == 32, "rank");
_Static_assert(offsetof(struct score_header, ranks) == 36, "ranks");
_Static_assert(offsetof(struct score_header, channel) == 40, "channel");
_Static_assert(offsetof(struct score_header, local_ranks) == 44, "local_ranks");
_Static_assert(offsetof(struct score_header, lanes) == 48, "lanes");
_Static_assert(offsetof(struct score_header, lane_bytes) == 52, "lane_bytes");
_Static_assert(offsetof(struct score_header, shared_bytes) == 56, "shared_bytes");
_Static_assert(offsetof(struct score_header, send_bytes) == 60, "send_bytes");
_Static_assert(offsetof(struct score_header, max_message) == 64, "max_message");
_Static_assert(offsetof(struct score_header, net_bytes) == 68, "net_bytes");
_Static_assert(offsetof(struct score_header, status_at) == 72, "status_at");
_Static_assert(offsetof(struct score_header, lock_at) == 80, "lock_at");
_Static_assert(offsetof(struct score_header, owners_at) == 88, "owners_at");
_Static_assert(offsetof(struct score_header, waiters_at) == 96, "waiters_at");
_Static_assert(offsetof(struct score_header, counters_at) == 104, "counters_at");
_Static_assert(offsetof(struct score_header, lanes_at) == 112, "lanes_at");
_Static_assert(offsetof(struct score_header, shared_at) == 120, "shared_at");
_Static_assert(offsetof(struct score_header, local_at) == 128, "local_at");
_Static_assert(offsetof(struct score_header, active_at) == 136, "active_at");
_Static_assert(offsetof(struct score_header, peers_at) == 144, "peers_at");
_Static_assert(offsetof(struct score_header, arrivals_at) == 152, "arrivals_at");
_Static_assert(offsetof(struct score_header, granules_at) == 160, "granules_at");
_Static_assert(offsetof(struct score_header, send_at) == 168, "send_at");
_Static_assert(offsetof(struct score_header, shared_ring) == 176, "shared_ring");
_Static_assert(offsetof(struct score_header, net_ring) == 184, "net_ring");
_Static_assert(offsetof(struct score_header, lane_rings) == 192, "lane_rings");
_Static_assert(offsetof(struct score_header, flow) == 200, "flow");

/* What senders look at before and after each message. */
struct score_status {
	uint32_t state;
	uint32_t sleeping;
	uint32_t gone;
	uint32_t waits;
	int64_t since;
	uint32_t wanted;
	uint32_t offers;
	uint32_t recalls;
	uint8_t pad0[28];
};
_Static_assert(sizeof(struct score_status) == 64, "score_status");
_Static_assert(offsetof(struct score_status, state) == 0, "state");
_Static_assert(offsetof(struct score_status, sleeping) == 4, "sleeping");
_Static_assert(offsetof(struct score_status, gone) == 8, "gone");
_Static_assert(offsetof(struct score_status, waits) == 12, "waits");
_Static_assert(offsetof(struct score_status, since) == 16, "since");
_Static_assert(offsetof(struct score_status, wanted) == 24, "wanted");
_Static_assert(offsetof(struct score_status, offers) == 28, "offers");
_Static_assert(offsetof(struct score_status, recalls) == 32, "recalls");

/* The driver lock. */
struct score_lock {
	uint64_t holder;
	uint32_t revoked;
	uint32_t wanted;
	uint32_t last;
	uint32_t drives;
	int64_t due;
	uint32_t away;
	uint32_t peer;
	uint32_t seq;
	uint32_t got;
	uint64_t tail;
	uint32_t extra;
	uint32_t located;
};
_Static_assert(sizeof(struct score_lock) == 64, "score_lock");
_Static_assert(offsetof(struct score_lock, holder) == 0, "holder");
_Static_assert(offsetof(struct score_lock, revoked) == 8, "revoked");
_Static_assert(offsetof(struct score_lock, wanted) == 12, "wanted");
_Static_assert(offsetof(struct score_lock, last) == 16, "last");
_Static_assert(offsetof(struct score_lock, drives) == 20, "drives");
_Static_assert(offsetof(struct score_lock, due) == 24, "due");
_Static_assert(offsetof(struct score_lock, away) == 32, "away");
_Static_assert(offsetof(struct score_lock, peer) == 36, "peer");
_Static_assert(offsetof(struct score_lock, seq) == 40, "seq");
_Static_assert(offsetof(struct score_lock, got) == 44, "got");
_Static_assert(offsetof(struct score_lock, tail) == 48, "tail");
_Static_assert(offsetof(struct score_lock, extra) == 56, "extra");
_Static_assert(offsetof(struct score_lock, located) == 60, "located");

/* Who plays a role: process first, then agent. */
struct score_owner {
	uint32_t pid;
	uint32_t pad0;
	uint64_t start;
	uint64_t space;
	uint8_t pad1[40];
};
_Static_assert(sizeof(struct score_owner) == 64, "score_owner");
_Static_assert(offsetof(struct score_owner, pid) == 0, "pid");
_Static_assert(offsetof(struct score_owner, start) == 8, "start");
_Static_assert(offsetof(struct score_owner, space) == 16, "space");

/* Senders that sleep until there is space, by index in the local table. */
struct score_waiters {
	uint64_t any;
	uint64_t bits[15];
};
_Static_assert(sizeof(struct score_waiters) == 128, "score_waiters");
_Static_assert(offsetof(struct score_waiters, any) == 0, "any");
_Static_assert(offsetof(struct score_waiters, bits) == 8, "bits");

/* Control of a ring with one writer. */
struct score_lane {
	uint64_t head;
	uint32_t recall;
	uint8_t pad0[52];
	uint64_t owner;
	uint64_t tail;
	uint8_t pad1[48];
};
_Static_assert(sizeof(struct score_lane) == 128, "score_lane");
_Static_assert(offsetof(struct score_lane, head) == 0, "head");
_Static_assert(offsetof(struct score_lane, recall) == 8, "recall");
_Static_assert(offsetof(struct score_lane, owner) == 64, "owner");
_Static_assert(offsetof(struct score_lane, tail) == 72, "tail");

/* Control of the ring with many writers. */
struct score_shared {
	uint64_t head;
	uint8_t pad0[56];
	uint64_t tail;
	uint8_t pad1[56];
};
_Static_assert(sizeof(struct score_shared) == 128, "score_shared");
_Static_assert(offsetof(struct score_shared, head) == 0, "head");
_Static_assert(offsetof(struct score_shared, tail) == 64, "tail");

/* A rank on another node. */
struct score_peer {
	uint8_t flow[120];
	uint32_t first;
	uint32_t last;
};
_Static_assert(sizeof(struct score_peer) == 128, "score_peer");
_Static_assert(offsetof(struct score_peer, flow) == 0, "flow");
_Static_assert(offsetof(struct score_peer, first) == 120, "first");
_Static_assert(offsetof(struct score_peer, last) == 124, "last");

/* A rank on the same node, in place of score_peer. */
struct score_local_peer {
	uint32_t pid;
	uint32_t gone;
	uint64_t start;
	uint64_t space;
	uint8_t pad0[104];
};
_Static_assert(sizeof(struct score_local_peer) == 128, "score_local_peer");
_Static_assert(offsetof(struct score_local_peer, pid) == 0, "pid");
_Static_assert(offsetof(struct score_local_peer, gone) == 4, "gone");
_Static_assert(offsetof(struct score_local_peer, start) == 8, "start");
_Static_assert(offsetof(struct score_local_peer, space) == 16, "space");

/* A message of several frames that is being put together in the network lane. */
struct score_arrival {
	uint32_t position;
	uint32_t got;
};
_Static_assert(sizeof(struct score_arrival) == 8, "score_arrival");
_Static_assert(offsetof(struct score_arrival, position) == 0, "position");
_Static_assert(offsetof(struct score_arrival, got) == 4, "got");

/* Head of a message in a ring; its bytes follow. */
struct score_record {
	uint64_t commit;
	uint32_t progress;
	uint32_t mark;
};
_Static_assert(sizeof(struct score_record) == 16, "score_record");
_Static_assert(offsetof(struct score_record, commit) == 0, "commit");
_Static_assert(offsetof(struct score_record, progress) == 8, "progress");
_Static_assert(offsetof(struct score_record, mark) == 12, "mark");

/* Head of a message in the send buffer; its bytes follow. */
struct score_kept {
	uint32_t next;
	uint32_t length;
	uint32_t peer;
	uint32_t first;
	uint32_t frames;
	uint32_t pad0;
};
_Static_assert(sizeof(struct score_kept) == 24, "score_kept");
_Static_assert(offsetof(struct score_kept, next) == 0, "next");
_Static_assert(offsetof(struct score_kept, length) == 4, "length");
_Static_assert(offsetof(struct score_kept, peer) == 8, "peer");
_Static_assert(offsetof(struct score_kept, first) == 12, "first");
_Static_assert(offsetof(struct score_kept, frames) == 16, "frames");

/* Counters: 64-bit words at counters_at. */
#define SCORE_COUNTER_SENT              0 /* messages: messages handed over or kept for sending */
#define SCORE_COUNTER_SENT_BYTES        1 /* bytes: bytes of those messages */
#define SCORE_COUNTER_RECEIVED          2 /* messages: messages taken from the inbox */
#define SCORE_COUNTER_RECEIVED_BYTES    3 /* bytes: bytes of those messages */
#define SCORE_COUNTER_REFUSED           4 /* events: sends that found no space */
#define SCORE_COUNTER_SLEEPS            5 /* events: times the rank went to sleep for want of messages */
#define SCORE_COUNTER_WAKES             6 /* events: times the rank woke a sleeping peer */
#define SCORE_COUNTER_VOIDED            7 /* messages: messages lost because their sender died while writing them */
#define SCORE_COUNTER_DAMAGED           8 /* events: rings given up because what they said was impossible */
#define SCORE_COUNTER_LANES             9 /* events: lanes that senders of this node opened */
#define SCORE_COUNTER_LOCK_TAKEN       10 /* events: times the agent took the driver lock */
#define SCORE_COUNTER_LOCK_REFUSED     11 /* events: times the process found the driver lock revoked */
#define SCORE_COUNTER_LOCK_BROKEN      12 /* events: times the driver lock's holder had died */
#define SCORE_COUNTER_LOCK_TIMEOUTS    13 /* events: times the driver lock's holder did not let go in time */
#define SCORE_COUNTER_NACKED           14 /* events: frames from other nodes that were refused: no room, not resident, or one before them was missing */
#define SCORE_COUNTER_RESENT           15 /* events: frames sent to other nodes once more */
#define SCORE_COUNTER_CREDIT_REQUESTS  16 /* events: requests for credits sent to ranks of other nodes */
#define SCORE_COUNTER_CREDITS_GRANTED  17 /* events: credits granted to ranks of other nodes, their first ones not counted */
#define SCORE_COUNTER_LANES_GIVEN_BACK 18 /* events: lanes that their senders gave back, or left when they died */
#define SCORE_COUNTER_LANES_WANTED     19 /* events: times a sender of this node found no free lane */
#define SCORE_COUNTER_DIRECT_OPERATIONS 20 /* events: one-sided operations done by load and store in windows that are mapped */
#define SCORE_COUNTER_WINDOWS_MAPPED   21 /* events: windows of ranks of this node that were mapped, for one-sided operations */
#define SCORE_COUNTER_COPIED_BYTES     22 /* bytes: bytes that the kernel copied between this process and others */
#define SCORE_COUNTER_STREAMED_BYTES   23 /* bytes: bytes of long transfers that went in pieces through the channel, or as bulk datagrams */
#define SCORE_COUNTER_RENDEZVOUS       24 /* messages: tagged messages sent as rendezvous: too long, or no room for them at the receiver */
#define SCORE_COUNTER_RENDEZVOUS_OPEN  25 /* messages: rendezvous of this rank's sends that are under way now */
#define SCORE_COUNTER_UNEXPECTED_BYTES 26 /* bytes: bytes of tagged messages that are kept now until they are received */
#define SCORE_COUNTER_PEERS_GIVEN_UP   27 /* events: ranks given up because they broke the protocol of one-sided operations or tags */
#define SCORE_COUNTER_BULK_BYTES       28 /* bytes: bytes of long transfers that were sent to other nodes as bulk datagrams */
#define SCORE_COUNTER_PIECES_AGAIN     29 /* events: pieces of long transfers that were asked for again: bulk datagrams were lost */
#define SCORE_COUNTER_PULLS_OPEN       30 /* events: long transfers from other nodes that this rank is reading now */

#endif
