"""Errors of workers."""

from ..errors import UpdraftError


class DistributedError(UpdraftError, RuntimeError):
    """Another worker failed, RPC is not running, or a gradient is unavailable."""
