"""What may go wrong between workers."""

from ..errors import UpdraftError


class DistributedError(UpdraftError, RuntimeError):
    """Another worker failed, RPC is not there, or a gradient cannot be had."""
