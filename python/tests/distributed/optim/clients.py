"""Tests that run in the client of the world of `process_world.py`."""

import functools
import inspect

import pytest


def on_client(function):
    """Makes a test of a function that runs in the client, and may take a folder."""
    takes_folder = bool(inspect.signature(function).parameters)

    def test(process_world, request, tmp_path):
        complaint = process_world.run(request.path, function.__name__, tmp_path)
        if complaint is not None:
            pytest.fail(complaint, pytrace=False)

    functools.update_wrapper(test, function)
    # pytest asks for the fixtures of what is wrapped.
    del test.__wrapped__
    test.on_client = function if takes_folder else lambda folder: function()
    return test
