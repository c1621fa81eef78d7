"""Combines the results of all parts."""

from collections.abc import Iterable, Sequence

import torch

from ..errors import InvalidArgumentError


def _stacked(results: Iterable[torch.Tensor]) -> torch.Tensor:
    tensors = list(results)
    if not tensors:
        raise InvalidArgumentError("expected one or more results, got none")
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"result {index} is of type `{type(tensor).__name__}`; this reducer takes tensors"
            )
        if tensor.shape != tensors[0].shape:
            raise InvalidArgumentError(
                f"result {index} has the shape {list(tensor.shape)}, but result 0 has"
                f" {list(tensors[0].shape)}; this reducer takes results of one shape"
            )
    return torch.stack(tensors)


def mean_reducer(
    results: Iterable[torch.Tensor], *, weights: Sequence[int] | None = None
) -> torch.Tensor:
    """Returns the mean of the results.

    Args:
        results: tensors of one shape.
        weights: the weight of each result. A call passes the sizes of the parts, so that the mean
            of the means of unequal parts is the mean of the whole batch. None for equal weights.

    Example:
        >>> updraft.distributed.mean_reducer([torch.tensor(1.0), torch.tensor(4.0)], weights=[2, 1])
        tensor(2.)
    """
    stacked = _stacked(results)
    if not (stacked.is_floating_point() or stacked.is_complex()):
        raise InvalidArgumentError(
            f"expected floating-point or complex results for a mean, got `{stacked.dtype}`"
        )
    if weights is None:
        return stacked.mean(dim=0)
    if len(weights) != len(stacked):
        raise InvalidArgumentError(
            f"there are {len(stacked)} results and {len(weights)} weights; give one for each"
        )
    if min(weights) < 0 or max(weights) == 0:
        raise InvalidArgumentError(
            f"the weights are {list(weights)}, but must be non-negative and not all 0"
        )
    if len({*weights}) == 1:
        return stacked.mean(dim=0)
    fractions = torch.tensor([weight / sum(weights) for weight in weights], dtype=torch.float64)
    fractions = fractions.to(stacked.device, stacked.dtype)
    return (stacked * fractions.reshape(-1, *[1] * (stacked.dim() - 1))).sum(dim=0)


def sum_reducer(results: Iterable[torch.Tensor]) -> torch.Tensor:
    """Returns the sum of the results, which are tensors of one shape.

    Example:
        >>> updraft.distributed.sum_reducer([torch.tensor(1.0), torch.tensor(4.0)])
        tensor(5.)
    """
    return _stacked(results).sum(dim=0)
