"""The largest attention logits of heads, which a trainer records for QK-clip."""

from collections.abc import Sequence

import torch

from ..errors import InvalidArgumentError
from .gathered_part import part_of
from .stand_ins import is_distributed, local_part

#: The state over rows, of rules with QK-clip.
STATE = "max_logits"


def require_logits(values: torch.Tensor | Sequence[float], rows: int) -> torch.Tensor:
    """Returns the logits of heads as f32. Their number has to divide the rows of a parameter.

    Raises:
        InvalidArgumentError: the number doesn't, or a logit is NaN or infinity.
    """
    logits = torch.as_tensor(values).detach().flatten().float()
    count = len(logits)
    if not count or rows % count:
        raise InvalidArgumentError(
            f"`values` has {count} numbers for a parameter of {rows} rows; give one for each head, "
            "whose rows are consecutive and equally many, or one for each row"
        )
    # A head without tokens on this rank may have -infinity.
    refused = (logits.isnan() | (logits == torch.inf)).nonzero()
    if len(refused):
        head = int(refused[0])
        raise InvalidArgumentError(
            f"the largest logit of head {head} is {logits[head].item()}; give numbers below "
            "infinity"
        )
    return logits


def record(state: torch.Tensor, values: torch.Tensor | Sequence[float]) -> None:
    """Raises the state of each row to the logit of its head."""
    rows = state.numel()
    logits = require_logits(values, rows).to(state.device)
    of_rows = logits.repeat_interleave(rows // len(logits)).view(state.shape).to(state.dtype)
    if is_distributed(state):
        of_rows, state = part_of(of_rows, state), local_part(state)
    state.copy_(torch.maximum(state, of_rows))
