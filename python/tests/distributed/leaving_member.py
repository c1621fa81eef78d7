"""A member that joins, waits for a line, leaves as the line says, and prints the time taken."""

import json
import sys
import time

from joining import join
from torch.distributed import rpc

from updraft import distributed

if __name__ == "__main__":
    join()
    if any(worker.name == "ps" for worker in distributed.world.workers().values()):
        distributed.held_parameters("ps")
    print("joined", flush=True)
    arguments = json.loads(sys.stdin.readline())
    begin, text = time.monotonic(), None
    try:
        rpc.shutdown(**arguments)
    except distributed.DistributedError as error:
        text = str(error)
    print(json.dumps([time.monotonic() - begin, text]), flush=True)
