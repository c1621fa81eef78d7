"""Exceptions: one class per status of the C API, all of them `UpdraftError`.

Each class also derives from the built-in exception with the same meaning, so code that doesn't know
Updraft can catch it. Only an argument of the wrong Python type raises a plain TypeError.
"""


class UpdraftError(Exception):
    """Any error of Updraft. The message says what was found, the rule, and a hint."""


class InvalidArgumentError(UpdraftError, ValueError):
    """An argument breaks a documented rule: a wrong shape, a hyperparameter out of range."""


class CompileError(UpdraftError, ValueError):
    """The rule's text has an error. The message shows its location, like the command line."""


class NotFoundError(UpdraftError, KeyError):
    """The state or hyperparameter doesn't exist."""

    def __str__(self) -> str:
        # KeyError would quote the message.
        return Exception.__str__(self)


class UnsupportedError(UpdraftError, NotImplementedError):
    """The request is valid, but this build or device doesn't support it."""


class FileError(UpdraftError, OSError):
    """A file could not be read or written. A retry may help.

    `errno` and `filename` are set if they are known.
    """

    def __str__(self) -> str:
        # OSError would add text around the message.
        return Exception.__str__(self)


class FileMissingError(FileError, FileNotFoundError):
    """The file doesn't exist."""


class OutOfMemoryError(UpdraftError, MemoryError):
    """There was not enough memory. A retry may help."""


class InternalError(UpdraftError, RuntimeError):
    """A bug in Updraft; please report it."""


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
    """Creates the exception for a status of the C API. The extension module calls this."""
    kind = _CLASSES[status] if 0 < status < len(_CLASSES) else InternalError
    return kind(message.rstrip("\n"))


def from_os_error(error: OSError, action: str, path: str) -> FileError:
    """Creates the exception for a failed file operation of Python. `action` is like "read"."""
    if isinstance(error, FileNotFoundError):
        made: FileError = FileMissingError(f"there is no file `{path}`")
    else:
        made = FileError(f"cannot {action} `{path}`: {error.strerror}")
    made.errno, made.strerror, made.filename = error.errno, error.strerror, path
    return made
