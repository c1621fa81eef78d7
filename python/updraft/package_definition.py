"""Rules that were compiled ahead of time: packages."""

from collections.abc import Mapping
from typing import Any

from . import _updraft
from .definition import FileDefinition
from .errors import InvalidArgumentError, UnsupportedError
from .tracing.source import Source


class PackageDefinition(FileDefinition):
    """A rule in a package. It holds the bytes of the package, and so does a pickle."""

    def __init__(self, path: str, content: bytes, defaults: Mapping[str, Any]) -> None:
        super().__init__(path, None, defaults)
        self.content = content

    def __call__(self, **defaults: Any) -> "PackageDefinition":
        return PackageDefinition(self._path, self.content, self._defaults | defaults)

    def __reduce__(self) -> Any:
        return PackageDefinition, (self._path, self.content, self._defaults)

    def _source(self, statics: Mapping[str, Any]) -> Source:
        return Source(self.content, [])

    def _deciding_values(self, values: Mapping[str, float]) -> dict[str, float]:
        # There is no other code. A step refuses values that need it.
        return {}

    def to_upd(self, **statics: Any) -> str:
        """Returns the text that the package was made from."""
        if statics:
            raise InvalidArgumentError(f"`{self.name}` has no static argument `{min(statics)}`")
        return _updraft.Package(self.content, self._path).source.decode().rstrip("\n")

    def _stage(self) -> tuple[str, str]:
        raise UnsupportedError(
            f"the package `{self._path}` can't be a stage of a chain, because it is compiled; "
            "pack the chain with `updraftc pack --rule`"
        )
