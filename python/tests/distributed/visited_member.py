"""A member that joins, waits for a line, and only then connects to the others."""

import os
import sys

import torch
from joining import join
from torch.distributed import rpc

from updraft import distributed

if __name__ == "__main__":
    # Only sockets, which tensors also use.
    rank = join(_transports=["uv"], _channels=os.environ["UPDRAFT_TEST_CHANNELS"].split(","))
    print("joined", flush=True)
    sys.stdin.readline()
    large = torch.arange(1e6)
    there = distributed.hold_parameter("ps", f"held{rank}", large)
    assert torch.equal(there.to_here(), large)
    for other in {1, 2} - {rank}:
        assert torch.equal(rpc.rpc_sync(f"client{other}", torch.neg, args=(large,)), -large)
    print("connected", flush=True)
    rpc.shutdown()
