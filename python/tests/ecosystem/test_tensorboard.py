"""Probes in TensorBoard's logs, read by the package itself (python/requirements-ecosystem.txt)."""

import pytest
import torch

import updraft.optim
from updraft.probes import TensorBoardWriter

accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def test_logs_have_what_the_optimizer_returns(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Linear(10, 5)
    optimizer = updraft.optim.AdamW(
        model.named_parameters(), probes=["update_ratio", "gradient_sizes"]
    )
    rows = []
    optimizer.register_probe_callback(rows.extend)
    target = TensorBoardWriter(tmp_path)
    optimizer.register_probe_callback(target)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(3, 10)).square().sum().backward()
        optimizer.step()
    target.writer.close()

    logs = accumulators.EventAccumulator(str(tmp_path), {accumulators.HISTOGRAMS: 0})
    logs.Reload()
    assert sorted(logs.Tags()["scalars"]) == ["update_ratio/bias", "update_ratio/weight"]
    assert sorted(logs.Tags()["histograms"]) == ["gradient_sizes/bias", "gradient_sizes/weight"]
    for parameter in ("weight", "bias"):
        own = [row for row in rows if row.parameter == parameter]
        scalars = logs.Scalars(f"update_ratio/{parameter}")
        assert [scalar.step for scalar in scalars] == [row.step for row in own] == [1, 2, 3, 4, 5]
        assert [scalar.value for scalar in scalars] == pytest.approx(
            [row.values["update_ratio"] for row in own]
        )
        for entry, row in zip(logs.Histograms(f"gradient_sizes/{parameter}"), own, strict=True):
            sizes = row.values["gradient_sizes"]
            assert entry.step == row.step
            assert entry.histogram_value.num == sizes.total
            assert entry.histogram_value.bucket == list(sizes.counts)
            assert entry.histogram_value.bucket_limit[:-1] == pytest.approx(sizes.bounds)
