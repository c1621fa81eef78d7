"""A client of parameter servers, on gRPC. It needs grpcio, and neither torch nor a compiler.

    from updraft.distributed.grpc import Client

    client = Client(["127.0.0.1:7070", "127.0.0.1:7071"])
    client.put({"weight": weight})
    optimizer = client.optimizer("adamw", "AdamW", [{"params": ["weight"], "lr": 1e-3}])
    with optimizer.context() as context:
        context.push({"weight": gradient})
        optimizer.step(context)
    weight = client.get(["weight"])["weight"]

`weight` and `gradient` are arrays of numpy, or of other packages through DLPack.
`docs/parameter-server.md` explains workers, contexts and errors.
"""

from .client import Client
from .errors import ContextLostError, WorkerFailure, WorkersFailedError
from .optimizer import Context, DistributedOptimizer
from .tensors import Rows

__all__ = [
    "Client",
    "Context",
    "ContextLostError",
    "DistributedOptimizer",
    "Rows",
    "WorkerFailure",
    "WorkersFailedError",
]
