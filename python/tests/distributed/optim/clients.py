"""Tests that run in the client of the world of `process_world.py`."""

import functools
import inspect

import pytest


def on_client(function):
    """Turns a function that runs in the client, and may take a folder, into a test.

    Other arguments come from `pytest.mark.parametrize`, and are sent to the client as JSON.
    """
    names = [*inspect.signature(function).parameters]
    given = [name for name in names if name != "folder"]

    def test(process_world, request, tmp_path, **values):
        complaint = process_world.run(request.path, function.__name__, tmp_path, values)
        if complaint is not None:
            pytest.fail(complaint, pytrace=False)

    functools.update_wrapper(test, function)
    # pytest looks up the fixtures of the wrapped function.
    del test.__wrapped__
    fixtures = ["process_world", "request", "tmp_path", *given]
    test.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in fixtures]
    )
    takes_folder = given != names
    test.on_client = function if takes_folder else lambda folder, **values: function(**values)
    return test
