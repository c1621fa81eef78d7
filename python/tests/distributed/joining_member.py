"""A member that joins, with a given timeout, and prints the error if it can't."""

import os

from joining import join
from torch.distributed import rpc

from updraft import distributed

if __name__ == "__main__":
    try:
        join(rpc_timeout=float(os.environ.get("UPDRAFT_TEST_PATIENCE", "300")))
    except distributed.DistributedError as error:
        print(error, flush=True)
        os._exit(0)
    print("joined", flush=True)
    rpc.shutdown()
