"""Calls, gradients and barriers among three workers: the checks of `members.py`."""

import json
import pathlib

import pytest

from . import members


@pytest.fixture(scope="module")
def answers(tmp_path_factory, torchrun):
    """The results of each worker: None or the error, by check."""
    folder = tmp_path_factory.mktemp("answers")
    program = pathlib.Path(__file__).with_name("members.py")
    ran = torchrun(members.WORLD, str(program), str(folder))
    assert ran.returncode == 0, ran.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(members.WORLD)]


@pytest.mark.parametrize("name", [check.__name__ for check in members.CHECKS])
def test_check(answers, name):
    complaints = [answer[name] for answer in answers]
    assert complaints == [None] * members.WORLD, "\n".join(map(str, complaints))
