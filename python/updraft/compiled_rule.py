"""Compiled rules, and compilation of a text."""

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _updraft, dtypes
from .arguments import require_dict, require_text, require_unmasked
from .errors import InvalidArgumentError, from_os_error
from .tracing.source import Origins

if TYPE_CHECKING:
    from .notebook import Card
    from .report import Report


def path_text(path: str | bytes | os.PathLike[Any]) -> str:
    """Returns a path as text. Refuses null characters, where the C API would end the path."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise InvalidArgumentError(f"path {text!r} has a null character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"path {text!r} is not UTF-8; give another name") from None
    return text


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


def setting_literal(name: str, value: Any) -> str:
    """Writes a Python value as the language does."""
    require_unmasked(value, f"setting `{name}`")
    # numpy's booleans aren't instances of `bool`. numpy 1 calls their type `bool_`.
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if isinstance(value, str):
        require_text(value, f"value of `{name}`")
        return '"' + value.translate(_ESCAPES) + '"'
    if isinstance(value, (list, tuple)):
        # The elements of a list are numbers or tuples. A checkpoint may have turned either into the
        # other.
        return f"[{', '.join(_element_literal(name, element) for element in value)}]"
    try:
        if isinstance(value, int):
            return str(value)
        number = float(value)
        if math.isfinite(number):
            return repr(number)
        # The language doesn't have literals for these.
        return "0/0" if math.isnan(number) else "1/0" if number > 0 else "-1/0"
    except TypeError:
        raise TypeError(
            f"setting `{name}` is {type(value)}; give a number, a boolean, text or a list"
        ) from None
    except ValueError as error:
        raise InvalidArgumentError(f"setting `{name}` is not a number: {error}") from None


def _element_literal(name: str, element: Any) -> str:
    if isinstance(element, (list, tuple)):
        return f"({', '.join(setting_literal(name, number) for number in element)})"
    return setting_literal(name, element)


def _items(argument: str, mapping: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """The items of `defaults` or `storage`, whose keys are names."""
    given = require_dict(mapping, f"`{argument}`")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"`{argument}` has the key {name!r}; keys are names, of type str")
        require_text(name, f"key of `{argument}`")
    return list(given.items())


# The limit of bytes in a rule file. The compiler refuses a file with one byte more.
_SOURCE_LIMIT = 64 * 1024


class CompiledRule:
    """One compiled rule: immutable, and safe to share between threads and optimizers.

    Created by `compile` or `compile_file`.

    Attributes:
        STAGES: the stages that `emit` prints for a CPU, in order.
    """

    STAGES = ("ast", "updraft", "torch", "schedule", "loops", "llvm", "asm")

    def __init__(self, compiled: _updraft.Rule, source: bytes) -> None:
        self._compiled = compiled
        self._source = source

    @property
    def name(self) -> str:
        """The rule's name in the source."""
        return self._compiled.name

    @property
    def hypers(self) -> dict[str, float]:
        """The hyperparameters with their defaults, in the order of declaration."""
        return self._compiled.hypers

    @property
    def states(self) -> dict[str, str]:
        """The states with their storage types, in the order of declaration, followed by those that
        only matrices have.
        """
        return self._compiled.states

    @property
    def stored_states(self) -> list[str]:
        """The names of all stored arrays: each state, and `NAME.scale` after one in blocks."""
        return [
            name + suffix
            for name, storage in self.states.items()
            for suffix in (("", ".scale") if storage.startswith("q8_") else ("",))
        ]

    @property
    def probes(self) -> list[str]:
        """The names of the probes, which steps report for each parameter: those of the rule, then
        those that it was compiled with.
        """
        return [name for name, _ in self._compiled.probes]

    @property
    def probe_bounds(self) -> dict[str, tuple[float, ...]]:
        """By the name of a probe, the bounds of its histogram; empty for a number."""
        return dict(self._compiled.probes)

    @property
    def param_dtype(self) -> str:
        """The storage type of parameters: "f32", "f64", "bf16" or "f16"."""
        return self._compiled.param_dtype

    @property
    def grad_dtype(self) -> str:
        """The storage type of gradients."""
        return self._compiled.grad_dtype

    @property
    def origin(self) -> str:
        """The source of the machine code: "compiled", "memory", "disk" or "package"."""
        return self._compiled.origin

    @property
    def target(self) -> str:
        """The target of steps: "host", or a GPU: "nvptx:sm_90", "emulator"."""
        return self._compiled.target

    def emit(self, stage: str) -> str:
        """Returns the rule's text at one of `STAGES`. For a GPU, the last stages are "gpu", "nvvm"
        and "ptx". Compiles again, for the same target.
        """
        require_text(stage, "stage")
        return self._compiled.emit(stage)

    def explain(self) -> str:
        """Returns the cost of a step: sweeps, bytes and flops per element, hoisted scalars."""
        return self._compiled.emit("explain")

    def report(self, *, also_for: str | None = None, run: bool = False) -> "Report":
        """Returns what the compiler did to the rule, stage by stage, as a page.

        Args:
            also_for: a GPU whose stages the report has beside those of the CPU: "nvptx:sm_90".
            run: measures a step of a parameter of 4096 x 4096, or of 1024 x 1024 if the rule
                multiplies matrices.

        Raises:
            UnsupportedError: the rule is from a package of several files, or `run` is given and
                numpy lacks the rule's types.
        """
        from .report import Report, measured_step

        if also_for is not None:
            require_text(also_for, "`also_for`")
        report = Report(self._compiled.report(also_for))
        return Report(report._document, measured_step(self, report.data)) if run else report

    @property
    def statics(self) -> dict[str, Any]:
        """The static flags with the values that the rule was compiled for."""
        return {name: _static_value(text) for name, text in self._compiled.statics.items()}

    def _for_target(self) -> str:
        """The suffix of descriptions of rules for a GPU."""
        target = self.target
        return "" if target == "host" else f", for {target}"

    def __repr__(self) -> str:
        hypers = ", ".join(f"{name}={value:g}" for name, value in self.hypers.items())
        streams = {"param": self.param_dtype, "grad": self.grad_dtype}
        storage = ", ".join(f"{name}: {dtype}" for name, dtype in (streams | self.states).items())
        return f"<updraft rule {self.name}({hypers}), {storage}{self._for_target()}>"

    def _card(self) -> "Card":
        from .notebook import Card

        source = self._source
        if is_package(source):
            source = _updraft.Package(source, "<package>").source
        return Card(
            name=self.name,
            remarks=f"computed in {self._compiled.compute_dtype}, "
            f"numerics {self._compiled.numerics}{self._for_target()}",
            hypers=self.hypers,
            statics=self.statics,
            storage={"param": self.param_dtype, "grad": self.grad_dtype} | self.states,
            source=source.decode().rstrip("\n"),
        )

    def _repr_html_(self) -> str:
        return self._card().html()

    def _repr_markdown_(self) -> str:
        return self._card().markdown()


def _static_value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return _list_of(text) if text.startswith("[") else float(text)
    except ValueError:
        return text


def _list_of(text: str) -> list[Any]:
    """Reads "[1, 2]", or "[(1, 2), (3, 4)]" as a list of tuples."""
    if not text.endswith("]"):
        raise ValueError(text)
    elements = text[1:-1]
    if not elements.startswith("("):
        return [float(element) for element in elements.split(",")]
    if not elements.endswith(")"):
        raise ValueError(text)
    tuples = elements[1:-1].split("), (")
    return [tuple(float(part) for part in each.split(",")) for each in tuples]


def require_probes(probes: Sequence[str]) -> list[str]:
    """Returns probes as a list of texts."""
    if isinstance(probes, str | bytes):
        raise TypeError(f"`probes` is {type(probes)}; give a list, `[probe]`")
    result = list(probes)
    for probe in result:
        require_text(probe, "probe")
    return result


# The values of upd_tensors.
TENSORS = {"all": 0, "vectors": 1, "matrices": 2}


def compile_source(
    source: bytes,
    *,
    filename: str,
    rule: str | None,
    defaults: Mapping[str, Any] | None,
    storage: Mapping[str, Any] | None,
    numerics: str | None,
    cache_dir: str | os.PathLike[str] | None,
    tensors: str,
    target: str | None,
    origins: Origins = ([], []),
    probes: Sequence[str] = (),
) -> CompiledRule:
    """Compiles a text. `origins` are the files and spans that it was generated from."""
    for what, given in (("rule", rule), ("numerics mode", numerics), ("target", target)):
        if given is not None:
            require_text(given, what)
    settings = [
        (name, setting_literal(name, value)) for name, value in _items("defaults", defaults)
    ]
    types = [(name, dtypes.canonical_name(dtype)) for name, dtype in _items("storage", storage)]
    cache = None if cache_dir is None else path_text(cache_dir)
    if not isinstance(tensors, str) or tensors not in TENSORS:
        raise InvalidArgumentError(
            f"`tensors` is {tensors!r}; give " + ", ".join(repr(known) for known in TENSORS)
        )
    return CompiledRule(
        _updraft.Rule(
            source,
            path_text(filename),
            rule,
            settings,
            types,
            numerics,
            cache,
            TENSORS[tensors],
            target,
            *origins,
            require_probes(probes),
        ),
        source,
    )


# The first bytes of a package.
_MAGIC = b"UPDPACK\0"
# The limit of bytes in a package.
_PACKAGE_LIMIT = 1 << 30


def is_package(content: bytes) -> bool:
    """Whether the bytes are those of a package and not of a rule's text."""
    return content.startswith(_MAGIC)


def read_source(path: str) -> bytes:
    """Reads a rule file or a package. If a rule file is too long, reads just enough for the
    compiler to refuse it.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_SOURCE_LIMIT + 1)
            if is_package(content):
                content += file.read(_PACKAGE_LIMIT)
            return content
    except OSError as error:
        raise from_os_error(error, "read", path) from None
