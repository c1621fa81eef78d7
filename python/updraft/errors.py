"""Exceptions: one class per status of the C API, all of them `UpdraftError`.

Each is also the built-in exception that says the same, so that code which knows nothing of Updraft
can catch it. Only an argument of the wrong Python type is a plain TypeError.
"""


class UpdraftError(Exception):
    """Anything that Updraft reports. The message says what was found, the rule, and a hint."""


class InvalidArgumentError(UpdraftError, ValueError):
    """An argument breaks a documented rule: a wrong shape, a hyperparameter out of range."""


class CompileError(UpdraftError, ValueError):
    """The rule's text is in error. The message shows the place, as the command line does."""


class NotFoundError(UpdraftError, KeyError):
    """There is no state or hyperparameter of that name."""

    def __str__(self) -> str:
        # A KeyError would quote the message.
        return Exception.__str__(self)


class UnsupportedError(UpdraftError, NotImplementedError):
    """Valid, but this build or device cannot do it."""


class FileError(UpdraftError, OSError):
    """A file could not be read or written. Trying again may help.

    `errno` and `filename` are set where they are known.
    """

    def __str__(self) -> str:
        # An OSError would write its own text around them.
        return Exception.__str__(self)


class FileMissingError(FileError, FileNotFoundError):
    """There is no such file."""


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
    return kind(message.rstrip("\n"))


def from_os_error(error: OSError, action: str, path: str) -> FileError:
    """Makes the exception for what Python could not do with a file: `action` is "read"."""
    if isinstance(error, FileNotFoundError):
        made: FileError = FileMissingError(f"there is no file `{path}`")
    else:
        made = FileError(f"cannot {action} `{path}`: {error.strerror}")
    made.errno, made.strerror, made.filename = error.errno, error.strerror, path
    return made
