"""What mpi4py makes of MPI: pickles, buffers, collectives, windows; every rank with every other."""
import sys

import mpi4py

mpi4py.rc.thread_level = "serialized"  # Open MPI has no windows over messages for more

from mpi4py import MPI  # noqa: E402

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
after, before = (rank + 1) % ranks, (rank - 1) % ranks


def check(what, right):
    if not right:
        print(f"rank {rank}: {what} is wrong", file=sys.stderr, flush=True)
        world.Abort(1)


def pickles():
    for length in (0, 1, 1000, 300_000):
        given = {"from": rank, "data": list(range(length)), "text": "é" * length}
        request = world.isend(given, dest=after, tag=length)
        got = world.recv(source=before, tag=length)
        request.wait()
        check(f"pickle of {length}", got == {**given, "from": before})
    got = world.sendrecv((rank, None), dest=after, source=MPI.ANY_SOURCE, sendtag=5, recvtag=MPI.ANY_TAG)
    check("pickle of anybody", got == (before, None))


def buffers():
    for length in (0, 1, 4096, 4097, 1 << 20):
        out, into = bytearray([rank]) * length, bytearray(length)
        requests = [world.Irecv([into, MPI.BYTE], source=before, tag=1), world.Isend([out, MPI.BYTE], dest=after, tag=1)]
        MPI.Request.Waitall(requests)
        check(f"buffer of {length}", into == bytearray([before]) * length)
    status = MPI.Status()
    world.Isend([bytearray(77), MPI.BYTE], dest=after, tag=2)
    world.Probe(before, 2, status)
    check("probed length", status.Get_count(MPI.BYTE) == 77)
    message = world.Mprobe(before, 2)
    into = bytearray(77)
    message.Recv([into, MPI.BYTE])


def collectives():
    check("bcast", world.bcast("root" if rank == 0 else None) == "root")
    check("allgather", world.allgather([rank]) == [[r] for r in range(ranks)])
    check("alltoall", world.alltoall([(rank, r) for r in range(ranks)]) == [(r, rank) for r in range(ranks)])
    check("scatter", world.scatter([r * r for r in range(ranks)] if rank == 0 else None) == rank * rank)
    check("allreduce", world.allreduce(rank) == ranks * (ranks - 1) // 2)
    check("scan", world.scan(1) == rank + 1)
    half = world.Split(rank % 2, -rank)
    check("split", half.allreduce(1) == (ranks + 1 - rank % 2) // 2)
    half.Free()


def windows():
    memory = MPI.Alloc_mem(8 * ranks)
    view = memoryview(memory).cast("B").cast("l")
    for r in range(ranks):
        view[r] = 0
    window = MPI.Win.Create(memory, 8, MPI.INFO_NULL, world)
    one = memoryview(bytearray(8)).cast("l")
    one[0] = rank + 1
    window.Fence()
    window.Put([one, MPI.LONG], after, target=(rank, 1, MPI.LONG))
    window.Fence()
    check("put", view[before] == before + 1)
    got = memoryview(bytearray(8)).cast("l")
    window.Lock(after, MPI.LOCK_SHARED)
    window.Get([got, MPI.LONG], after, target=(rank, 1, MPI.LONG))
    window.Unlock(after)
    check("get", got[0] == rank + 1)
    world.Barrier()
    view[0] = 0
    world.Barrier()
    for _ in range(20):
        window.Lock(0, MPI.LOCK_EXCLUSIVE)
        window.Accumulate([one, MPI.LONG], 0, target=(0, 1, MPI.LONG), op=MPI.SUM)
        window.Unlock(0)
    world.Barrier()
    if rank == 0:
        window.Lock(0, MPI.LOCK_SHARED)
        check("sum", view[0] == 20 * ranks * (ranks + 1) // 2)
        window.Unlock(0)
    window.Free()


for part in (pickles, buffers, collectives, windows):
    part()
    world.Barrier()
if rank == 0:
    print(f"mpi4py, {ranks} ranks: right")
