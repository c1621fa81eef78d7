"""Exceptions: one class per status of the C API, all of them `UpdraftError`.

Each is also the built-in exception that says the same, so that code which knows nothing of Updraft
can catch it.
"""


class UpdraftError(Exception):
    """Anything that Updraft reports. The message says what was found, the rule, and a hint."""


class InvalidArgumentError(UpdraftError, ValueError):
    """An argument breaks a documented rule: a wrong shape, a hyperparameter out of range."""


class CompileError(UpdraftError, ValueError):
    """The rule's text is in error. The message shows the place, as the command line does."""


class NotFoundError(UpdraftError, LookupError):
    """There is no rule, state, hyperparameter or file of that name."""


class UnsupportedError(UpdraftError, NotImplementedError):
    """Valid, but this build or device cannot do it."""


class FileError(UpdraftError, OSError):
    """A file could not be read or written. Trying again may help."""


class OutOfMemoryError(UpdraftError, MemoryError):
    """There was not enough memory. Trying again may help."""


class InternalError(UpdraftError, RuntimeError):
    """A defect of Updraft; please report it."""


# The index is upd_status.
_CLASSES = (
    UpdraftError,
    InvalidArgumentError,
    CompileError,
    NotFoundError,
    UnsupportedError,
    FileError,
    OutOfMemoryError,
    InternalError,
)


def from_status(status: int, message: str) -> UpdraftError:
    """Makes the exception for a status of the C API. Called by the extension module."""
    kind = _CLASSES[status] if 0 < status < len(_CLASSES) else InternalError
    return kind(message)
