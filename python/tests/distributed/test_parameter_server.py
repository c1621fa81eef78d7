"""The example of a parameter server, in four processes."""

import argparse
import importlib.util
import re
import sys

import pytest

from .conftest import EXAMPLES

PROGRAM = EXAMPLES / "parameter_server.py"
IMAGES = 1437  # for training


@pytest.fixture
def parameter_server():
    """The program as a module."""
    spec = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("options", "trainers"),
    [([], 3), (["--servers", "2", "--optimizer", "RMSprop"], 2)],
    ids=["one server", "two servers"],
)
def test_training(forked, options, trainers):
    ran = forked(
        4,
        "--with=sklearn.datasets",
        str(PROGRAM),
        "--epochs",
        "2",
        "--log-interval",
        "20",
        *options,
    )
    assert ran.returncode == 0, ran.stderr
    qualities = re.findall(r"trained: loss (\S+), (\S+)% of new images right$", ran.stdout, re.M)
    (loss_before, right_before), (loss, right) = [map(float, quality) for quality in qualities]
    assert loss < loss_before / 2
    assert right > right_before + 50
    mine = [len(range(number, IMAGES, trainers)) for number in range(trainers)]
    steps = sum(2 * -(-images // 16) for images in mine)
    counted = f"^{steps} steps of {trainers} trainers in \\S+ s: \\d+ steps per second$"
    assert re.search(counted, ran.stdout, re.M), ran.stdout
    waited = r"^waiting for locks: \d+\.\d{3} ms, \d+\.\d{3}% of the trainers' time$"
    assert re.search(waited, ran.stdout, re.M), ran.stdout
    assert re.findall(r"^trainer0, step (\d+): loss", ran.stdout, re.M)[:2] == ["20", "40"]


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--help"], 0, "whether a backward may read what another trainer has stepped"),
        ([], 2, "there are 1 servers in a world of 1; at least one, and one trainer, start by"),
        (["--optimizer", "Nadam"], 2, "torch.optim has no optimizer `Nadam`"),
    ],
)
def test_command_lines(parameter_server, place, monkeypatch, capsys, options, code, text):
    place(size=1 if not options else 4)
    monkeypatch.setattr(sys, "argv", ["parameter_server", *options])
    with pytest.raises(SystemExit) as ended:
        parameter_server.parsed()
    assert ended.value.code == code
    printed = capsys.readouterr()
    assert text in " ".join((printed.out + printed.err).split())


def test_one_worker_says_what_is_wrong(parameter_server, place, monkeypatch, capsys):
    place(rank=2)
    monkeypatch.setattr(sys, "argv", ["parameter_server", "--servers", "9"])
    with pytest.raises(SystemExit):
        parameter_server.parsed()
    assert capsys.readouterr() == ("", "")


def test_bars_on_a_terminal(parameter_server, place, monkeypatch, capsys):
    pytest.importorskip("rich")
    place()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    arguments = argparse.Namespace(servers=1, epochs=1, batch=16, seed=0, log_interval=10)
    with parameter_server.Display(arguments, 3) as display:
        display.show(1, 10, 0.25)
    printed = capsys.readouterr().out
    assert "trainer1, loss 0.250" in printed
    assert "step 10" not in printed
    assert printed.count("100%") >= 3
