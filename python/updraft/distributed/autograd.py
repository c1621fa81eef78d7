"""Gradients through calls on other workers, with torch's distributed autograd.

A context may be used for several backward passes. Each pass counts once. Threads that use the same
context take turns.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import torch
import torch.distributed.autograd as dist_autograd
from torch.distributed.autograd import context, is_available

from ..torch_private import version_of
from .context_ids import require_context
from .errors import DistributedError
from .turns import Turns

__all__ = ["backward", "context", "get_gradients", "grad", "is_available"]

TensorOrTensors: TypeAlias = torch.Tensor | Iterable[torch.Tensor]

# The turns of threads that use the same context.
_turns = Turns()


def get_gradients(context_id: int) -> dict[torch.Tensor, torch.Tensor]:
    """Returns the gradients of this worker's tensors in the context, summed over its passes.

    Example:
        >>> with updraft.distributed.autograd.context() as context_id:
        ...     weight = torch.ones(2, requires_grad=True)
        ...     updraft.distributed.autograd.backward(context_id, (3 * weight).sum())
        ...     updraft.distributed.autograd.get_gradients(context_id)[weight]
        tensor([3., 3.])
    """
    require_context(context_id)
    with _turns.of(context_id):
        gradients: dict[torch.Tensor, torch.Tensor] = dist_autograd.get_gradients(context_id)
        return gradients


def _run_pass(
    context_id: int, roots: list[torch.Tensor], retain_graph: bool
) -> dict[torch.Tensor, torch.Tensor]:
    """Runs a backward pass; returns what it adds to the gradients of this worker's leaves."""
    # The pass adds to the context's gradients, so they are set to zeros meanwhile. They also get
    # other memory, because another gradient may share theirs.
    kept = {}
    for leaf, gradient in dist_autograd.get_gradients(context_id).items():
        sum_before = gradient.detach()
        gradient.data = torch.zeros_like(gradient)
        kept[leaf] = gradient, sum_before, version_of(gradient)
    added: dict[torch.Tensor, torch.Tensor] = {}
    try:
        dist_autograd.backward(context_id, roots, retain_graph)
        for leaf, gradient in dist_autograd.get_gradients(context_id).items():
            zeros, _, version = kept.get(leaf, (None, None, None))
            if gradient is not zeros or version_of(gradient) != version:
                added[leaf] = gradient.detach().clone()
    except RuntimeError as error:
        raise _explained(error) from None
    finally:
        now = dist_autograd.get_gradients(context_id)
        for leaf, (_, sum_before, _) in kept.items():
            new = added.get(leaf)
            now[leaf].data = sum_before if new is None else sum_before + new
    return added


def _explained(error: RuntimeError) -> Exception:
    """Converts a failed pass, without torch's backtrace and with the usual cause of a timeout."""
    text = str(error).partition("\nException raised from")[0]
    if "RPCErr:1:" in text:
        text += (
            "; the pass waits for the gradient of every call that the context has recorded, so make"
            " calls whose results are not used under `torch.no_grad()` or in another context"
        )
    return DistributedError(text)


def _listed(tensors: TensorOrTensors, what: str) -> list[torch.Tensor]:
    listed = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    for index, tensor in enumerate(listed):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{what} {index} is of type `{type(tensor).__name__}`; give tensors")
    return listed


def _roots(tensors: TensorOrTensors) -> list[torch.Tensor]:
    roots = _listed(tensors, "output")
    if not roots:
        raise DistributedError("there are no outputs; give one or more")
    for index, root in enumerate(roots):
        if not root.requires_grad:
            raise DistributedError(
                f"output {index} does not require grad; it does not depend on a tensor that does,"
                " or was computed without a graph"
            )
        if root.numel() != 1:
            raise DistributedError(
                f"output {index} has the shape {list(root.shape)}, but must have one element; sum"
                " it, with weights if needed"
            )
    return roots


def _leaves(inputs: TensorOrTensors) -> list[torch.Tensor]:
    leaves = _listed(inputs, "input")
    if not leaves:
        raise DistributedError("`inputs` is empty; give one or more")
    for index, leaf in enumerate(leaves):
        if not leaf.requires_grad:
            raise DistributedError(f"input {index} does not require grad")
        if not leaf.is_leaf:
            raise DistributedError(
                f"input {index} is not a leaf; a context has gradients of leaves only, so give the"
                " leaves that it was computed from"
            )
    return leaves


def backward(
    autograd_ctx_id: int,
    tensors: TensorOrTensors,
    retain_graph: bool = False,
    inputs: TensorOrTensors | None = None,
) -> None:
    """Adds the gradients of the sum of `tensors` to `.grad` of this worker's leaves.

    Args:
        autograd_ctx_id: the context in which the tensors were computed.
        tensors: tensors of one element.
        retain_graph: keeps the graph for another pass.
        inputs: the leaves whose `.grad` is written; None for all leaves of this worker in the
            graph.

    Example:
        >>> weight = torch.ones(2, requires_grad=True)
        >>> with updraft.distributed.autograd.context() as context_id:
        ...     updraft.distributed.autograd.backward(context_id, (3 * weight).sum())
        >>> weight.grad
        tensor([3., 3.])
    """
    roots = _roots(tensors)
    leaves = None if inputs is None else _leaves(inputs)
    require_context(autograd_ctx_id)
    with _turns.of(autograd_ctx_id), torch.no_grad():
        added = _run_pass(autograd_ctx_id, roots, retain_graph)
        for leaf in added if leaves is None else dict.fromkeys(leaves):
            if leaf not in added:
                continue
            if leaf.grad is None:
                leaf.grad = added[leaf]
            else:
                leaf.grad += added[leaf]


def grad(
    autograd_ctx_id: int,
    outputs: TensorOrTensors,
    inputs: TensorOrTensors,
    retain_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[torch.Tensor | None, ...]:
    """Returns the gradients of the sum of `outputs`, without writing `.grad`.

    Args:
        autograd_ctx_id: the context in which the outputs were computed.
        outputs: tensors of one element.
        inputs: leaves of this worker.
        retain_graph: keeps the graph for another pass.
        allow_unused: returns None for an input that the outputs don't depend on. By default, that
            is an error.

    Example:
        >>> weight = torch.ones(2, requires_grad=True)
        >>> with updraft.distributed.autograd.context() as context_id:
        ...     loss = (3 * weight).sum()
        ...     updraft.distributed.autograd.grad(context_id, loss, weight)
        (tensor([3., 3.]),)
    """
    roots = _roots(outputs)
    leaves: Sequence[torch.Tensor] = _leaves(inputs)
    require_context(autograd_ctx_id)
    with _turns.of(autograd_ctx_id):
        added = _run_pass(autograd_ctx_id, roots, retain_graph)
    for index, leaf in enumerate(leaves):
        if leaf not in added and not allow_unused:
            raise DistributedError(
                f"input {index} is not used by the outputs; with `allow_unused=True` its gradient"
                " is None"
            )
    return tuple(added.get(leaf) for leaf in leaves)
