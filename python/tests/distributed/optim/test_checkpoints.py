"""Checkpoints with the process group of `auto_init_rpc`, loaded with more or fewer workers."""

import json
import pathlib

PROGRAM = pathlib.Path(__file__).with_name("checkpoints.py")


def test_from_two_workers_to_one_and_to_three(forked, tmp_path):
    found = {}
    for way, workers in (("save", 3), ("load", 2), ("load", 4)):
        ran = forked(workers, str(PROGRAM), way, str(tmp_path / "saved"))
        assert ran.returncode == 0, ran.stderr
        found[way, workers] = json.loads(ran.stdout.splitlines()[-1])
    assert found["save", 3] == found["load", 2] == found["load", 4]
