/* The rows, by what they are about. consumer.c's order is that of rows.c. */
#ifndef ROWS_H
#define ROWS_H

/* offer.c: fi_getinfo, alone */
void row_rdm(void);
void row_openmpi_mtl(void);
void row_openmpi_btl(void);
void row_mpich(void);
void row_openshmem(void);
void row_gasnet(void);
void row_limits(void);
void row_threading(void);
void row_progress(void);
void row_mr_mode(void);
void row_order(void);
void row_refused(void);
void row_sides(void);
void row_versions(void);

/* objects.c: objects, alone or with little traffic */
void row_event_queue(void);
void row_av_events(void);
void row_busy(void);
void row_reopen(void);
void row_many_endpoints(void);
void row_waits(void);
void row_addresses(void);
void row_named_av(void);
void row_left_out(void);
void row_endpoints(void);
void row_wait_objects(void);
void row_cq_formats(void);
void row_small_cq(void);
void row_selective(void);
void row_counters(void);

/* messages.c */
void row_tagged(void);
void row_tag_bits(void);
void row_message(void);
void row_directed(void);
void row_undirected(void);
void row_multi_recv(void);
void row_cq_data(void);
void row_inject(void);
void row_unexpected(void);
void row_threads(void);
void row_signals(void);
void row_urgent(void);

/* probe.c */
void row_peek(void);
void row_probe_waits(void);
void row_works_between_reads(void);
void row_claim(void);
void row_cancel(void);
void row_truncation(void);
void row_nowhere(void);
void row_match_complete(void);
void row_delivery_message(void);

/* memory.c */
void row_rma(void);
void row_mr_basic(void);
void row_mr_errors(void);
void row_mr_all(void);
void row_write_data(void);
void row_delivery(void);
void row_rma_order(void);
void row_rma_event(void);
void row_auto_progress(void);

/* atomic.c */
void row_atomic_valid(void);
void row_atomic(void);
void row_fetch_atomic(void);
void row_compare_atomic(void);

#endif
