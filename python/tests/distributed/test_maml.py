"""The example of distributed meta-learning, in two processes."""

import re

from .conftest import EXAMPLES


def test_maml(forked):
    ran = forked(
        *(2, "--with=sklearn.datasets", str(EXAMPLES / "maml.py")),
        *("--check", "--steps", "40", "--log-interval", "20"),
    )
    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout
    difference = re.search(r"^largest difference .*: (\S+)$", printed, re.MULTILINE)
    assert float(difference[1]) <= 1e-6
    untrained, trained = map(float, re.findall(r"trained: (\S+)% right", printed))
    assert trained > untrained + 10
    assert re.findall(r"^step (\d+): loss", printed, re.MULTILINE) == ["20", "40"]
