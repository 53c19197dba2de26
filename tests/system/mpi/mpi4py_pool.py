"""A pool of mpi4py.futures: rank 0 gives tasks to the others. Started with python3 -m mpi4py.futures."""
from mpi4py.futures import MPIPoolExecutor


def square(n):
    return n * n


if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        got = list(pool.map(square, range(200), chunksize=3))
        print("pool: right" if got == [n * n for n in range(200)] else "pool: WRONG")
