"""Whether this process belongs to a world of the backend `UPDRAFT`."""

from typing import Any

from ..torch_private import rpc_agent, rpc_is_running

#: The agent of the last such world that this process joined.
_agent: Any = None


def join(agent: Any) -> None:
    """Remembers the agent of the world that this process joins."""
    global _agent
    _agent = agent


def leave() -> None:
    """Forgets the world."""
    global _agent
    _agent = None


def has_joined() -> bool:
    """Whether this process belongs to such a world. All its members know Updraft's operators."""
    return rpc_is_running() and rpc_agent() is _agent
