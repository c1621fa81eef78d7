"""The timeout of a call, for all functions of this package."""

import math

from ..errors import InvalidArgumentError

# As in rpc.constants: the timeout of the backend's options.
UNSET_RPC_TIMEOUT = -1.0
# torch counts milliseconds in 32 bits. This is longer than three weeks.
_LONGEST = 2e6


def call_limit(timeout: float | None) -> float:
    """Converts a timeout for torch.

    Args:
        timeout: seconds; 0 for no limit; None for the timeout of `rpc_backend_options`.
    """
    if timeout is None:
        return UNSET_RPC_TIMEOUT
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"`timeout` is `{timeout!r}`; give seconds, 0 for no limit, or None")
    if timeout == UNSET_RPC_TIMEOUT:
        return UNSET_RPC_TIMEOUT
    if math.isnan(timeout) or timeout < 0:
        raise InvalidArgumentError(
            f"`timeout` is {timeout}; give seconds, 0 for no limit, or None for that of "
            "`rpc_backend_options`"
        )
    return 0.0 if timeout > _LONGEST else float(timeout)
