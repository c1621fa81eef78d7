"""Joins the world, in programs that tests start as members."""

import os

from torch.distributed import rpc


def join(name=None, **options):
    """Joins as the member of the rank that the environment has, and returns the rank.

    Args:
        name: the member's name; None for `client` and its rank.
        options: options of the backend, if they are not the default.
    """
    rank = int(os.environ["RANK"])
    rpc.init_rpc(
        name or f"client{rank}",
        backend=rpc.BackendType.UPDRAFT,
        rank=rank,
        world_size=int(os.environ["WORLD_SIZE"]),
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(**options) if options else None,
    )
    return rank
