"""A member that joins, with as much patience as it is given, and prints the error if it cannot."""

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
