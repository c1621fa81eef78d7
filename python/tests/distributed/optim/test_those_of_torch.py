"""Runs all of torch's `dist_optimizer_test`, from the wheel, with Updraft's class."""

import inspect
import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).with_name("torch_dist_optimizer_tests.py")
LIMIT = 600


def test_torchs_own_tests_pass(loopback):
    pytest.importorskip("expecttest")
    from torch.testing._internal.distributed.rpc.dist_optimizer_test import DistOptimizerTest

    names = [name for name, _ in inspect.getmembers(DistOptimizerTest) if name.startswith("test_")]
    assert len(names) >= 4
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, "-v"],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=loopback,
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(rf"^Ran {len(names)} tests in .*\n\nOK$", ran.stderr, re.MULTILINE), ran.stderr
