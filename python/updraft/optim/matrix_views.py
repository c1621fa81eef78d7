"""Views of a parameter as the matrices that a rule multiplies.

A fused weight for query, key and value is three matrices, one below the other. A filter bank of a
convolution is one matrix with a row for each output channel. Rules that treat each matrix as a
whole, such as Muon, give better updates if they get these matrices instead of the parameter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.parameter import is_lazy

from ..errors import InvalidArgumentError
from .correspondence import Group

#: The entries of a parameter group that describe a view; see `MatrixView`.
ENTRIES = ("matrix_blocks", "matrix_layout")
_LAYOUTS = ("flat", "transposed")


def kept_entries(loaded: Sequence[Group], mine: Sequence[Group]) -> list[Group]:
    """Returns parameter groups of a checkpoint, with the entries that only the optimizer's have.

    So a checkpoint that was saved without blocks continues with the blocks of the optimizer.
    """
    if len(loaded) != len(mine):
        return list(loaded)  # torch refuses it
    return [
        {entry: own[entry] for entry in ENTRIES if entry in own} | dict(group)
        for group, own in zip(loaded, mine, strict=True)
    ]


@dataclass(frozen=True)
class MatrixView:
    """Describes the matrices of a parameter.

    Args:
        blocks: the rows of each matrix, from the first row of the parameter to the last; or the
            number of matrices, which have equally many rows. None for one matrix.
        layout: "flat" if all dimensions after the first are columns; "transposed" if the parameter
            has outputs as columns, and the matrices are those of its transpose. None if the
            dimensions are rows and columns.
    """

    blocks: tuple[int, ...] | int | None = None
    layout: str | None = None

    @staticmethod
    def of(group: Group) -> "MatrixView | None":
        """Returns the view that a group's entries describe, or None.

        Raises:
            InvalidArgumentError: an entry isn't valid.
        """
        blocks, layout = (group.get(name) for name in ENTRIES)
        if blocks is None and layout is None:
            return None
        if layout is not None and layout not in _LAYOUTS:
            raise InvalidArgumentError(
                f"the `matrix_layout` of a parameter group is {layout!r}; give "
                + ", ".join(f'"{known}"' for known in _LAYOUTS)
                + " or None"
            )
        counts = blocks if isinstance(blocks, tuple | list) else () if blocks is None else (blocks,)
        if blocks == () or not all(type(count) is int and count > 0 for count in counts):
            raise InvalidArgumentError(
                f"the `matrix_blocks` of a parameter group are {blocks!r}; give the rows of each "
                "block, such as (768, 768, 768), or the number of equal blocks"
            )
        return MatrixView(tuple(blocks) if isinstance(blocks, list) else blocks, layout)

    @staticmethod
    def are_alike(one: "MatrixView | None", other: "MatrixView | None", shape: torch.Size) -> bool:
        """Whether both give the same matrices of a parameter."""
        if one is None or other is None:
            return one is other
        return one.layout == other.layout and one.rows(shape) == other.rows(shape)

    def entries(self) -> Group:
        """Returns the entries of a group that describe this view."""
        both = zip(ENTRIES, (self.blocks, self.layout), strict=True)
        return {name: value for name, value in both if value is not None}

    def rows(self, shape: torch.Size) -> list[int]:
        """Returns the rows of each matrix of a parameter.

        Raises:
            InvalidArgumentError: a parameter of this shape can't be split this way.
        """
        if len(shape) < 2 or (len(shape) > 2 and self.layout != "flat"):
            entries = " and ".join(f"`{name}`" for name in self.entries())
            wanted = "two or more" if self.layout == "flat" else "two"
            raise InvalidArgumentError(
                f"a parameter of shape {tuple(shape)} is in a group with {entries}; give "
                f"parameters of {wanted} dimensions"
            )
        rows = shape[1] if self.layout == "transposed" else shape[0]
        if self.blocks is None:
            return [rows]
        if isinstance(self.blocks, int):
            if rows % self.blocks:
                raise InvalidArgumentError(
                    f"the {rows} rows of a parameter of shape {tuple(shape)} don't make "
                    f"{self.blocks} equal blocks; give the rows of each block"
                )
            return [rows // self.blocks] * self.blocks
        if sum(self.blocks) != rows:
            raise InvalidArgumentError(
                f"`matrix_blocks` has {sum(self.blocks)} rows, but a parameter of shape "
                f"{tuple(shape)} has {rows}"
            )
        return list(self.blocks)

    def matrices(self, whole: torch.Tensor) -> list[torch.Tensor]:
        """Returns the matrices of a tensor of the parameter's shape, as views of it. Copies a
        tensor that can't be flattened as it is laid out in memory.
        """
        return list(self._as_matrix(whole).split(self.rows(whole.shape)))

    def slices(self, whole: torch.Tensor) -> list[torch.Tensor]:
        """Like `matrices`, but the views have the parameter's dimensions, and nothing is copied."""
        flat = self.layout == "flat"
        return list((whole if flat else self._as_matrix(whole)).split(self.rows(whole.shape)))

    def _as_matrix(self, whole: torch.Tensor) -> torch.Tensor:
        if self.layout == "transposed":
            return whole.t()
        flat = self.layout == "flat"
        return whole.reshape(whole.shape[0], math.prod(whole.shape[1:])) if flat else whole

    def parts(self, state: torch.Tensor, shape: torch.Size, is_element: bool) -> list[torch.Tensor]:
        """Returns the states of the matrices in a state of the parameter.

        Args:
            state: has the parameter's shape; or a row for each row of the matrices, for each matrix
                or for the only one; or a number for each matrix.
            shape: the parameter's shape.
            is_element: whether the state has a value for each element. Other states may have the
                parameter's shape, too.
        """
        if is_element and state.shape == shape:
            return self.matrices(state)
        rows = self.rows(shape)
        if len(rows) == 1:
            return [state]
        if state.dim() == 1 and len(state) == len(rows):
            return list(state)
        if state.dim() == 2 and len(state) in (sum(rows), len(rows)):
            return list(state.split(rows if len(state) == sum(rows) else 1))
        raise InvalidArgumentError(
            f"a state of shape {tuple(state.shape)} can't be split like its parameter of shape "
            f"{tuple(shape)} into {len(rows)} matrices"
        )

    def joined(
        self, parts: list[torch.Tensor], shape: torch.Size, is_element: bool
    ) -> torch.Tensor:
        """The inverse of `parts`. Copies the states of more than one matrix."""
        first = parts[0]
        if len(parts) > 1:
            first = torch.cat(parts) if first.dim() else torch.stack(parts)
        if is_element and self.layout == "transposed":
            return first.t()
        return first.view(shape) if is_element and self.layout == "flat" else first


def require_matrices(group: Group) -> None:
    """Refuses a group whose entries don't describe matrices of its parameters."""
    view = MatrixView.of(group)
    if view is not None:
        for param in group["params"]:
            if not is_lazy(param):
                view.rows(param.shape)
