"""The trainers of Hugging Face and Lightning, from python/requirements-ecosystem.txt."""

import pytest
import torch

from updraft import optim


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def samples():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(24, 6, generator=generator)


def assert_trained_alike(train):
    theirs, ours = (train(module) for module in (torch.optim, optim))
    for their, our, start in zip(theirs, ours, network().parameters(), strict=True):
        torch.testing.assert_close(our, their, rtol=1e-4, atol=1e-5)
        assert not our.equal(start)


class WithLoss(torch.nn.Module):
    """A model with the arguments and results of a `transformers` model."""

    def __init__(self):
        super().__init__()
        self.network = network()

    def forward(self, inputs):
        return {"loss": self.network(inputs).square().mean()}


def test_trainer_of_hugging_face(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")

    def train(module):
        model = WithLoss()
        optimizer = module.AdamW(model.parameters(), lr=0.05)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / module.__name__),
            max_steps=6,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            max_grad_norm=0.5,
            save_steps=3,
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            seed=1,
        )

        def trainer():
            return transformers.Trainer(
                model=model,
                args=arguments,
                train_dataset=[{"inputs": sample} for sample in samples()],
                data_collator=lambda batch: {
                    "inputs": torch.stack([sample["inputs"] for sample in batch])
                },
                optimizers=(
                    optimizer,
                    torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=6),
                ),
            )

        trainer().train()
        # Trains again from the checkpoint in the middle.
        trainer().train(resume_from_checkpoint=str(tmp_path / module.__name__ / "checkpoint-3"))
        return [param.detach() for param in model.parameters()]

    assert_trained_alike(train)


def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")

    def train(module):
        class Lit(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.network = network()

            def training_step(self, batch, index):
                return self.network(batch).square().mean()

            def configure_optimizers(self):
                optimizer = module.AdamW(self.parameters(), lr=0.05)
                scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=12)
                return [optimizer], [{"scheduler": scheduler, "interval": "step"}]

        def trainer(epochs):
            return lightning.Trainer(
                accelerator="cpu",
                devices=1,
                max_epochs=epochs,
                logger=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                enable_checkpointing=False,
                gradient_clip_val=0.5,
                default_root_dir=tmp_path,
            )

        batches = torch.utils.data.DataLoader(samples(), batch_size=4)
        first = trainer(1)
        first.fit(Lit(), batches)
        first.save_checkpoint(tmp_path / "saved.ckpt")
        model = Lit()
        trainer(2).fit(model, batches, ckpt_path=tmp_path / "saved.ckpt")
        return [param.detach() for param in model.parameters()]

    assert_trained_alike(train)
