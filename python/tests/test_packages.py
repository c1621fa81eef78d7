"""Rules that were compiled ahead of time, in Python."""

import pathlib
import pickle
import re
import subprocess

import numpy
import pytest

import updraft

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "build" / "release" / "bin" / "updraftc"
RULES = ROOT / "rules"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tools are not built")


def pack(path, rule, *options):
    targets = "--target=x86-64-v2,x86-64-v3,aarch64"
    command = [TOOL, "pack", RULES / f"{rule}.upd", targets, "-o", path, *options]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="module")
def sgd(folder):
    bf16 = "param=bf16,grad=bf16,state=f32"
    variants = ["--storage=param=f32", f"--storage={bf16}", "--storage=param=f64,grad=f64"]
    return pack(folder / "sgd.updraft", "sgd", "--set=momentum=0.9", *variants)


@pytest.fixture(scope="module")
def torch_numerics(folder):
    return pack(folder / "adamw.updraft", "adamw", "--numerics=torch")


@pytest.mark.parametrize("rule", ["muon", "dion2", "soap"])
def test_images_for_a_gpu_of_rules_with_products(folder, rule):
    """On a CPU, products add other matrices, whose factors are in the row of scalars."""
    path = folder / f"{rule}.updraft"
    targets = "--target=x86-64-v2,nvptx:sm_90"
    subprocess.run([TOOL, "pack", RULES / f"{rule}.upd", targets, "-o", path], check=True)
    assert "nvptx:sm_90" in repr(updraft.load(path).compile(target="nvptx:sm_90"))


def test_steps_of_arrays_have_the_bits_of_the_text(sgd):
    results = []
    for rule in (updraft.load(sgd), updraft.load("SGD")(momentum=0.9)):
        param = numpy.linspace(-1, 1, 1000, dtype="float32")
        optimizer = updraft.ArrayOptimizer(rule, [param], lr=0.1)
        for step in range(5):
            optimizer.step([numpy.sin(param * step)])
        results.append(param.tobytes())
    assert results[0] == results[1]


def test_the_definition_describes_the_package(sgd):
    definition = updraft.load(sgd)
    text = updraft.load("SGD")(momentum=0.9)
    assert definition.name == "SGD"
    assert definition.hypers == text.hypers
    assert definition.statics == text.compile().statics
    assert definition.states == {"momentum_buffer": "f32"}
    assert definition.to_upd() == (RULES / "sgd.upd").read_text().rstrip("\n")
    assert definition.compile().origin == "package"
    assert definition(lr=0.5).hypers["lr"] == 0.5
    assert definition.ir("ast") == text.ir("ast")
    assert "momentum_buffer" in definition._repr_html_()


def test_compile_takes_the_bytes_and_the_file(sgd):
    for rule in (updraft.compile(sgd.read_bytes()), updraft.compile_file(sgd)):
        assert rule.origin == "package"
        assert rule.hypers["momentum"] == 0.9
        assert rule.target == "host"
        assert "momentum_buffer" in rule._repr_html_()
    rule = updraft.compile_file(sgd, storage={"param": "bf16"})
    explained = updraft.compile_file(
        RULES / "sgd.upd",
        defaults={"momentum": 0.9},
        storage={"param": "bf16", "grad": "bf16", "state": "f32"},
    )
    assert rule.explain() == explained.explain()
    assert (rule.param_dtype, rule.grad_dtype) == ("bf16", "bf16")
    assert rule.states == {"momentum_buffer": "f32"}


def test_a_pickle_holds_the_package(sgd, tmp_path):
    copy = tmp_path / "copy.updraft"
    copy.write_bytes(sgd.read_bytes())
    definition = pickle.loads(pickle.dumps(updraft.load(copy)(lr=0.25)))
    copy.unlink()
    assert pickle.loads(pickle.dumps(definition)).compile(defaults=definition.hypers).name == "SGD"
    assert definition.hypers["lr"] == 0.25


def trained(kind, *rule, dtype="float32", **options):
    """A parameter after five steps of `kind(*rule, [param], lr=0.1, **options)`."""
    torch = pytest.importorskip("torch")
    param = torch.linspace(-1, 1, 1000, dtype=getattr(torch, dtype)).requires_grad_()
    optimizer = kind(*rule, [param], lr=0.1, **options)
    for _ in range(5):
        param.grad = param.detach().sin()
        optimizer.step()
    return param.detach()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_steps_of_tensors_have_the_bits_of_the_text(sgd, dtype):
    torch = pytest.importorskip("torch")
    storage = {"state": "f32"} if dtype == "bfloat16" else None
    packed = trained(updraft.optimizer, updraft.load(sgd), dtype=dtype)
    text = trained(
        updraft.optimizer, updraft.load("SGD")(momentum=0.9), dtype=dtype, storage=storage
    )
    assert torch.equal(packed, text)


def test_the_numerics_are_those_of_the_package(torch_numerics):
    torch = pytest.importorskip("torch")
    packed = trained(updraft.optimizer, torch_numerics)
    assert torch.equal(packed, trained(updraft.optim.AdamW))


def test_a_scaler_unscales_before_the_step(torch_numerics):
    torch = pytest.importorskip("torch")
    param = torch.ones(4, requires_grad=True)
    optimizer = updraft.optimizer(torch_numerics, [param], lr=0.1, weight_decay=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for gradient in (1.0, float("inf")):
        optimizer.zero_grad()
        scaler.scale((param * gradient).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert torch.allclose(param, torch.full((4,), 0.9))
    assert optimizer.state[param]["step"] == 1


def test_clipping_is_refused(torch_numerics):
    torch = pytest.importorskip("torch")
    optimizer = updraft.optimizer(torch_numerics, [torch.ones(4, requires_grad=True)])
    message = refusal(updraft.UnsupportedError, updraft.optim.with_clipping, optimizer, 1.0)
    assert message.startswith("a rule of a package can't clip, because its code doesn't scale")
    assert optimizer.max_grad_norm is None


def test_a_differentiable_step_uses_the_text(sgd):
    torch = pytest.importorskip("torch")
    step = updraft.load(sgd).to_torch()
    param = torch.ones(3, requires_grad=True)
    [new], _ = step([param], [torch.ones(3)], None)
    assert torch.allclose(new, torch.full((3,), 0.999))


def refusal(kind, function, *args, **kwargs):
    with pytest.raises(kind) as raised:
        function(*args, **kwargs)
    return str(raised.value)


def test_messages(sgd, folder):
    assert refusal(updraft.NotFoundError, updraft.compile_file, sgd, storage={"param": "f16"}) == (
        f"package `{sgd}` has no variant with `param=f16`; it has the variants `param=f32`, "
        "`param=bf16,grad=bf16,state=f32`, `param=f64,grad=f64`; add one with "
        "`updraftc pack --storage`"
    )
    default = pack(folder / "default.updraft", "sgd")
    wanted = {"param": "f16"}
    assert refusal(updraft.NotFoundError, updraft.compile_file, default, storage=wanted) == (
        f"package `{default}` has no variant with `param=f16`; it has the variants `f32`; add one "
        "with `updraftc pack --storage`"
    )
    assert refusal(
        updraft.UnsupportedError, updraft.compile_file, sgd, defaults={"nesterov": True}
    ) == (
        f"package `{sgd}` was made with `nesterov` = false, not true; make one with "
        "`updraftc pack --set nesterov=true`"
    )
    assert refusal(updraft.UnsupportedError, updraft.compile_file, sgd, numerics="fast") == (
        f"package `{sgd}` was made with numerics `ieee`, not `fast`; make one with "
        "`updraftc pack --numerics=fast`"
    )
    assert refusal(updraft.InvalidArgumentError, updraft.load, sgd, "Adam") == (
        f"package `{sgd}` has the rule `SGD`, not `Adam`"
    )
    assert refusal(
        updraft.UnsupportedError,
        lambda: updraft.chain("clip_by_value(1)", updraft.load(sgd)).compile(),
    ) == (
        f"the package `{sgd}` can't be a stage of a chain, because it is compiled; pack the chain "
        "with `updraftc pack --rule`"
    )
    damaged = folder / "damaged.updraft"
    damaged.write_bytes(sgd.read_bytes()[:-1])
    assert re.fullmatch(
        f"`{damaged}` is not a valid package: expected \\d+ bytes, got \\d+; the file is truncated",
        refusal(updraft.InvalidArgumentError, updraft.load, damaged),
    )


def test_a_hyperparameter_that_needs_other_code_is_refused(sgd):
    torch = pytest.importorskip("torch")
    param = torch.ones(3, requires_grad=True)
    message = refusal(
        updraft.InvalidArgumentError, updraft.optimizer, updraft.load(sgd), [param], momentum=0.0
    )
    assert message == (
        "momentum = 0.0 changes the static flag `buffered`; compile the rule with this value"
    )


def test_signatures(folder):
    key, public = folder / "key.pem", folder / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    signed = pack(folder / "signed.updraft", "sgd", f"--sign={key}")
    unsigned = pack(folder / "unsigned.updraft", "sgd")
    assert updraft.load(signed, required_key=public.read_text()).name == "SGD"
    assert (
        refusal(
            updraft.InvalidArgumentError, updraft.load, unsigned, required_key=public.read_text()
        )
        == f"package `{unsigned}` is not signed, and a signature is required"
    )
    assert refusal(
        updraft.InvalidArgumentError, updraft.load, "SGD", required_key=public.read_text()
    ).endswith("sgd.upd` is not a package, so it has no signature")


def test_the_page(folder, monkeypatch):
    pytest.importorskip("torch")
    page = (ROOT / "docs" / "packages.md").read_text()
    [block] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    pack(folder / "adamw.updraft", "adamw")
    monkeypatch.chdir(folder)
    names = {}
    exec(block, names)
    assert names["optimizer"].param_groups[0]["lr"] == 3e-4
