"""Reports with the probes of a run: what their documents contain."""

import itertools
import math
import random
import time

import numpy
import pytest

import updraft
from updraft.probes import CsvWriter, Histogram, ProbeRow


@pytest.fixture(scope="module")
def report():
    return updraft.load("SGD").report()


def written(path, rows):
    CsvWriter(path)(rows)
    return path


def numbers(text):
    return [None if cell == "-" else float(cell) for cell in text.split(" ")]


def test_the_rows_of_an_optimizer_are_shown(tmp_path, report):
    weights = [numpy.ones(4, "float32"), numpy.ones(5, "float32")]
    optimizer = updraft.ArrayOptimizer(
        updraft.load("SGD"),
        [{"params": weights, "names": ["a", "b"]}],
        probes=["gradient_norm", "gradient_sizes"],
    )
    optimizer.register_probe_callback(CsvWriter(tmp_path / "probes.csv"))
    for size in (1, 2, 4):
        optimizer.step([numpy.full_like(weight, size) for weight in weights])
    run = report.with_run(tmp_path / "probes.csv").data["run"]
    assert run["files"] == [{"name": str(tmp_path / "probes.csv"), "rows": 6}]
    assert run["parameters"] == ["a", "b"]
    assert run["columns"] == [[1, 1], [2, 2], [3, 3]]
    norms, sizes = run["probes"]
    assert (norms["name"], sizes["name"]) == ("gradient_norm", "gradient_sizes")
    assert numbers(norms["values"][0][0]) == [2, 4, 8]
    assert numbers(norms["values"][0][1]) == pytest.approx([5**0.5, 20**0.5, 80**0.5], rel=1e-3)
    assert sizes["bounds"] == pytest.approx([10.0**power for power in range(-8, 1)])
    assert sizes["values"][0][1].split(" ") == ["0,0,0,0,0,0,0,0,0,5"] * 3
    assert run["nan"]["count"] == run["missing"]["count"] == 0
    assert "run" not in report.data


def test_rows_with_nan_and_gaps_are_listed(tmp_path, report):
    steps = [1, 2, 3, 8, 9, 10, 20, 30, 40]
    rows = [ProbeRow(step, "w", {"x": float(step), "y": 1.0}) for step in steps]
    # A skipped step has the same number as the next one.
    rows.insert(4, ProbeRow(9, "w", {"x": math.nan, "y": 1.0}))
    run = report.with_run(written(tmp_path / "a.csv", rows)).data["run"]
    assert run["nan"] == {
        "count": 1,
        "rows": [{"file": 0, "step": 9, "parameter": "w", "probes": ["x"]}],
    }
    # From step 10 on, every tenth is probed.
    assert run["missing"] == {"count": 1, "gaps": [{"file": 0, "after": 3, "before": 8}]}
    words = run["probes"][0]["values"][0][0].split(" ")
    assert words == [f"{step}!" if step == 9 else str(step) for step in steps]
    assert run["probes"][1]["values"][0][0] == " ".join("1" * len(steps))


def test_ranks_differ_by_more_than_rounding(tmp_path, report):
    def rank(number, change):
        rows = [
            ProbeRow(step, name, {"x": 1.0 + step, "h": Histogram((0.0,), (3.0, float(step)))})
            for step in range(1, 6)
            for name in ("a", "b")
        ]
        return written(tmp_path / f"rank{number}.csv", change(rows))

    def changed(rows):
        rows[5] = ProbeRow(3, "b", {"x": 4.0 * (1 + 2e-6), "h": rows[5].values["h"]})
        rows[6] = ProbeRow(4, "a", {"x": math.nan, "h": Histogram((0.0,), (2.0, 5.0))})
        return rows

    first = rank(0, lambda rows: rows)
    rounded = rank(
        1,
        lambda rows: [
            row._replace(values={**row.values, "x": row.values["x"] * (1 + 5e-7)}) for row in rows
        ],
    )
    assert report.with_run(first, rounded).data["run"]["differences"] == []
    run = report.with_run(first, rank(2, changed)).data["run"]
    assert run["differences"] == [
        {
            "file": 1,
            "probe": "x",
            "step": 3,
            "parameter": "b",
            "bucket": 0,
            "value": pytest.approx(4.000008),
            "first": 4,
            "count": 2,
        },
        {
            "file": 1,
            "probe": "h",
            "step": 4,
            "parameter": "a",
            "bucket": 0,
            "value": 2,
            "first": 3,
            "count": 1,
        },
    ]
    assert run["unmatched"] == []
    missing = rank(3, lambda rows: [*rows[:-1], ProbeRow(6, "c", rows[0].values)])
    (unmatched,) = report.with_run(first, missing).data["run"]["unmatched"]
    assert unmatched == {"file": 1, "step": 5, "parameter": "b", "lacks": 1, "count": 2}


def test_long_runs_are_sampled_within_the_size_of_a_page(tmp_path, report):
    chosen = random.Random(1)
    paths = []
    for rank in range(2):
        lines = ["step,parameter,x,h[-inf..0),h[0..1),h[1..inf]"]
        for step in range(1, 501):
            for parameter in range(400):
                value = 1e6 if (step, parameter) == (77, 3) else chosen.random()
                lines.append(f"{step},layer{parameter}.weight,{value},{step},{parameter},0")
        paths.append(tmp_path / f"rank{rank}.csv")
        paths[-1].write_text("\n".join(lines) + "\n")
    start = time.process_time()
    made = report.with_run(*paths)
    page = made.html()
    assert time.process_time() - start < 5
    assert len(page) < 2 << 20
    run = made.data["run"]
    assert run["stepCount"] == 500
    assert run["parameterCount"] == len(run["parameters"]) == 400
    columns = run["columns"]
    assert 12 <= len(columns) <= 240
    assert columns[0][0] == 1
    assert columns[-1][1] == 500
    assert all(after[0] == before[1] + 1 for before, after in itertools.pairwise(columns))
    # The largest number and the last histogram of a column.
    at = next(at for at, (low, high) in enumerate(columns) if low <= 77 <= high)
    assert numbers(run["probes"][0]["values"][0][3])[at] == 1e6
    assert run["probes"][1]["values"][0][3].split(" ")[at] == f"{columns[at][1]},3,0"


def test_parameters_are_left_out_of_huge_models(tmp_path, report):
    rows = [
        ProbeRow(step, f"p{number}", {"x": 1.0, "y": 2.0})
        for step in range(1, 21)
        for number in range(9000)
    ]
    run = report.with_run(written(tmp_path / "a.csv", rows)).data["run"]
    assert run["parameterCount"] == 9000
    assert len(run["parameters"]) == 5000
    assert len(run["columns"]) <= 12


def test_a_run_without_rows(tmp_path, report):
    path = tmp_path / "a.csv"
    path.write_text("step,parameter,x\n")
    run = report.with_run(path).data["run"]
    assert run["columns"] == run["parameters"] == []
    assert report.with_run(path).html()


def test_errors(tmp_path, report):
    path = tmp_path / "a.csv"
    path.write_text("step,parameter,x\n1,w,many\n")
    with pytest.raises(updraft.InvalidArgumentError, match=r"a\.csv:2:5: expected a number, found"):
        report.with_run(path)
    with pytest.raises(updraft.InvalidArgumentError, match="a run has no files"):
        report.with_run()
    with pytest.raises(FileNotFoundError):
        report.with_run(tmp_path / "none.csv")
    # Bytes that aren't text.
    generator = numpy.random.default_rng(1)
    for size in (1, 10, 1000):
        path.write_bytes(generator.bytes(size))
        with pytest.raises(updraft.InvalidArgumentError, match=r"a\.csv:1:"):
            report.with_run(path)
    path.write_bytes(b"step,parameter,\xff\xfe\n1,\xff,1\n")
    assert report.with_run(path).data["run"]["parameters"] == ["�"]
