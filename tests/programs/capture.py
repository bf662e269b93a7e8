# SPDX-License-Identifier: MIT
"""Programs of tests/bats/capture.bats."""
import sys


def darray():
    """Does the same as the program "kinds darray FILE", by mpi4py."""
    from mpi4py import MPI

    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    part = MPI.DOUBLE.Create_darray(
        ranks, rank, [13, 17], [MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC],
        [MPI.DISTRIBUTE_DFLT_DARG, 3], MPI.Compute_dims(ranks, 2), MPI.ORDER_C).Commit()
    part.Set_name("density")
    data = bytes((rank + 7 * i) % 251 for i in range(2 * part.Get_size()))
    file = MPI.File.Open(MPI.COMM_WORLD, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(24, MPI.DOUBLE, part)
    file.Write_all([data, MPI.BYTE])
    file.Close()
    with open(f"rank{rank}.view1", "wb") as kept:
        kept.write(data)
