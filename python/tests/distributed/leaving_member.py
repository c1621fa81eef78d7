"""A member that joins, waits for a line, leaves as that says, and prints how long it has taken."""

import json
import os
import sys
import time

from torch.distributed import rpc

from updraft import distributed

if __name__ == "__main__":
    rank = int(os.environ["RANK"])
    rpc.init_rpc(
        f"client{rank}",
        backend=rpc.BackendType.UPDRAFT,
        rank=rank,
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    if "ps" in distributed.world.worker_names():
        distributed.held_parameters("ps")
    print("joined", flush=True)
    arguments = json.loads(sys.stdin.readline())
    begin, text = time.monotonic(), None
    try:
        rpc.shutdown(**arguments)
    except distributed.DistributedError as error:
        text = str(error)
    print(json.dumps([time.monotonic() - begin, text]), flush=True)
