"""Splits the arguments of a call into those of its parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from ..errors import InvalidArgumentError
from .trees import map_tensors, tensors_with_places
from .world import Worker, get_worker_id, get_world_rank, get_world_size


class Part(tuple[Worker, tuple[Any, ...], dict[str, Any]]):
    """The call for one worker, `(worker, args, kwargs)`, and the weight of its result.

    Args:
        worker: the worker, by number, name or `WorkerInfo`.
        args: the positional arguments there.
        kwargs: the keyword arguments there.
        weight: the weight of the result in a mean, such as the number of items.

    Example:
        >>> worker, args, kwargs = updraft.distributed.Part(1, ("a",), {}, weight=3)
        >>> worker, args
        (1, ('a',))
    """

    weight: int

    def __new__(
        cls,
        worker: Worker,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        weight: int = 1,
    ) -> "Part":
        """Creates the triplet."""
        part = super().__new__(cls, (worker, tuple(args), dict(kwargs or {})))
        part.weight = weight
        return part

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Lets a part be copied and pickled."""
        return (*self, self.weight)


Triplet: TypeAlias = tuple[Worker, Iterable[Any] | None, Mapping[str, Any] | None]
PartitionFunction: TypeAlias = Callable[..., Sequence[Triplet]]
Partitioner: TypeAlias = PartitionFunction | Worker


class TensorDimensionPartitioner:
    """Splits the tensors among the arguments along a dimension, one part for each worker.

    Also finds tensors in lists, tuples and dicts. All must have the same size along the dimension.
    All parts get all other arguments. The sizes of parts differ by at most one, larger ones first.
    With fewer items than workers, the first workers get one item each. Arguments without a tensor
    make one part, for the calling worker.

    Args:
        dim: the dimension; a negative one counts from the last of each tensor.
        exclusive: makes each item a part, and workers take turns.
        keepdim: with `exclusive`, a part keeps the dimension, with size 1. Without `exclusive`,
            parts always keep it.
        workers: the participating workers, by number, name or `WorkerInfo`; None for all.

    Example:
        >>> cut = updraft.distributed.TensorDimensionPartitioner(0, workers=[0])
        >>> [(worker, args) for worker, args, kwargs in cut(torch.arange(3), "all")]
        [(0, (tensor([0, 1, 2]), 'all'))]
    """

    def __init__(
        self,
        dim: int,
        *,
        exclusive: bool = False,
        keepdim: bool = False,
        workers: Sequence[Worker] | None = None,
    ) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise TypeError(f"`dim` is `{dim!r}`; it must be an int")
        if isinstance(workers, str):
            raise TypeError(f"`workers` is `{workers!r}`; give a list of workers")
        if workers is not None and not len(workers):
            raise InvalidArgumentError("`workers` is empty; give one or more, or None for all")
        self.dim = dim
        self.exclusive = exclusive
        self.keepdim = keepdim
        self.workers = None if workers is None else list(workers)

    def __repr__(self) -> str:
        """Shows the arguments."""
        return (
            f"TensorDimensionPartitioner({self.dim}, exclusive={self.exclusive},"
            f" keepdim={self.keepdim}, workers={self.workers})"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> list[Part]:
        """Returns the parts of these arguments."""
        size = self._size(args, kwargs)
        if size is None:
            return [Part(get_world_rank(), args, kwargs)]
        workers = (
            [*range(get_world_size())]
            if self.workers is None
            else [get_worker_id(worker) for worker in self.workers]
        )
        count = size if self.exclusive else min(size, len(workers))
        each, larger = divmod(size, count)
        parts = []
        start = 0
        for index in range(count):
            length = each + (index < larger)
            cut = self._cut(start, length)
            parts.append(
                Part(
                    workers[index % len(workers)],
                    map_tensors(cut, args),
                    map_tensors(cut, kwargs),
                    weight=length,
                )
            )
            start += length
        return parts

    def _cut(self, start: int, length: int) -> Callable[[torch.Tensor], torch.Tensor]:
        if self.exclusive and not self.keepdim:
            return lambda tensor: tensor.select(self.dim, start)
        return lambda tensor: tensor.narrow(self.dim, start, length)

    def _size(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
        """The common size of all tensors along the dimension; None without tensors."""
        size = first = None
        for place, tensor in tensors_with_places(args, kwargs):
            if not -tensor.dim() <= self.dim < tensor.dim():
                raise InvalidArgumentError(
                    f"cannot split {place} along dimension {self.dim}: its shape is"
                    f" {list(tensor.shape)}; give values for all parts as numbers, or in a module"
                )
            found = tensor.shape[self.dim]
            if size is None:
                size, first = found, place
            if found != size:
                raise InvalidArgumentError(
                    f"{place} has {found} items along dimension {self.dim}, but {first} has {size};"
                    " give tensors of the same size in this dimension"
                )
        if size == 0:
            raise InvalidArgumentError(
                f"{first} has no items along dimension {self.dim}, so there is nothing to split"
            )
        return size


def dim_partitioner(
    dim: int = 0,
    *,
    exclusive: bool = False,
    keepdim: bool = True,
    workers: Sequence[Worker] | None = None,
) -> PartitionFunction:
    """Returns a partitioner that splits the tensors among the arguments along a dimension.

    Args:
        dim: the dimension.
        exclusive: makes each item a part, and workers take turns.
        keepdim: a part keeps the dimension. False, with `exclusive`, removes it: a part of tasks
            with shape `(T, B, *)` has the shape `(B, *)`.
        workers: the participating workers, by number, name or `WorkerInfo`; None for all.

    Example:
        >>> tasks = updraft.distributed.dim_partitioner(0, exclusive=True, keepdim=False)
        >>> [args[0].shape for worker, args, kwargs in tasks(torch.zeros(2, 5, 3))]
        [torch.Size([5, 3]), torch.Size([5, 3])]
    """
    if not keepdim and not exclusive:
        raise InvalidArgumentError(
            "`keepdim=False` requires `exclusive=True`, because only parts of one item can drop the"
            " dimension"
        )
    return TensorDimensionPartitioner(dim, exclusive=exclusive, keepdim=keepdim, workers=workers)


batch_partitioner = TensorDimensionPartitioner(0, keepdim=True)
exclusive_batch_partitioner = TensorDimensionPartitioner(0, exclusive=True, keepdim=True)
