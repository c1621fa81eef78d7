"""Compiling and inspecting rules."""

import pathlib
import re
import struct

import numpy
import pytest

import updraft
from updraft import _updraft

RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"

SGD = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"

TWO_RULES = """
rule A(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }
rule B(lr = 0.2) { update(param, grad) { next param = param - lr * grad } }
"""

OPTIONAL_STATE = """
rule Flagged(lr = 0.1, static keep = false, static mode = "plain") {
  state seen = 0 when keep
  update(param, grad) {
    let scale = if mode == "double" then 2 else 1
    next seen = grad when keep
    next param = param - lr * scale * grad
  }
}
"""


@pytest.mark.parametrize("value", [numpy.True_, numpy.bool_(True), True])
def test_booleans_of_numpy(value):
    text = "rule R(static twice = false) { update(param, grad) {"
    text += " next param = param - (if twice then 2 * grad else grad) } }"
    weights = numpy.ones(2, dtype="float32")
    updraft.ArrayOptimizer(updraft.compile(text, defaults={"twice": value}), [weights]).step(
        [weights / 4]
    )
    assert weights.tolist() == [0.5, 0.5]


def test_version_names_llvm():
    assert _updraft.version().startswith(f"updraft {updraft.__version__} (")
    assert re.fullmatch(r"updraft \d+\.\d+\.\d+ \(LLVM 22\.1\.\d+\)", _updraft.version())


def test_name_hypers_and_states(adamw):
    assert adamw.name == "AdamW"
    assert adamw.hypers == {
        "lr": 1e-3,
        "beta1": 0.9,
        "beta2": 0.999,
        "eps": 1e-8,
        "weight_decay": 1e-2,
    }
    assert next(iter(adamw.hypers)) == "lr"
    assert adamw.states == {"exp_avg": "f32", "exp_avg_sq": "f32"}
    assert (adamw.param_dtype, adamw.grad_dtype) == ("f32", "f32")
    assert repr(adamw).startswith("<updraft rule AdamW(lr=0.001, ")
    assert repr(adamw).endswith("), param: f32, grad: f32, exp_avg: f32, exp_avg_sq: f32>")
    assert adamw.target == "host"


def test_a_rule_says_its_target():
    sgd = updraft.compile(updraft.load("SGD"), target="emulator")
    assert sgd.target == "emulator"
    assert repr(sgd).endswith(", param: f32, grad: f32, for emulator>")
    assert sgd.explain().splitlines()[0] == (
        "SGD: 1 sweep over data, 12 bytes moved per element, computed in f32, for emulator"
    )
    sgd = updraft.compile(updraft.load("SGD"), target="nvptx:sm_90")
    assert repr(sgd).endswith(", for nvptx:sm_90>")
    assert "for nvptx:sm_90\n" in sgd.explain()


def test_rule_is_chosen_by_name():
    assert updraft.compile(TWO_RULES, rule="B").hypers == {"lr": 0.2}
    with pytest.raises(updraft.UpdraftError, match="C"):
        updraft.compile(TWO_RULES, rule="C")
    with pytest.raises(updraft.UpdraftError):
        updraft.compile(TWO_RULES)


def test_set_takes_python_values():
    assert updraft.compile(OPTIONAL_STATE).states == {}
    rule = updraft.compile(OPTIONAL_STATE, defaults={"keep": True, "mode": "double", "lr": 0.5})
    assert rule.states == {"seen": "f32"}
    assert rule.hypers == {"lr": 0.5}
    weights = numpy.zeros(3, dtype="float32")
    updraft.ArrayOptimizer(rule, [weights]).step([numpy.ones(3, dtype="float32")])
    assert weights.tolist() == [-1.0, -1.0, -1.0]


def test_set_refuses_unknown_names():
    with pytest.raises(updraft.UpdraftError, match="keeep"):
        updraft.compile(OPTIONAL_STATE, defaults={"keeep": True})


@pytest.mark.parametrize("bf16", ["bf16", "bfloat16"])
def test_storage_types(bf16):
    path = RULES / "adamw.upd"
    rule = updraft.compile_file(path, storage={"param": bf16, "grad": bf16, "state": "f32"})
    assert (rule.param_dtype, rule.grad_dtype) == ("bf16", "bf16")
    assert set(rule.states.values()) == {"f32"}
    with pytest.raises(ValueError, match="unknown storage type `int8`"):
        updraft.compile_file(path, storage={"param": "int8"})


def test_storage_types_may_be_numpys():
    storage = {"param": numpy.float64, "grad": numpy.dtype("float64")}
    rule = updraft.compile_file(RULES / "adamw.upd", storage=storage)
    assert (rule.param_dtype, rule.grad_dtype) == ("f64", "f64")


@pytest.mark.parametrize(
    "stage, text",
    [
        ("ast", "exp_avg"),
        ("updraft", "updraft.rule"),
        ("schedule", "updraft.plan"),
        ("loops", "scf.for"),
        ("llvm", "define"),
        ("asm", "ret"),
    ],
)
def test_emit(adamw, stage, text):
    assert text in adamw.emit(stage)


def test_emit_covers_every_stage(adamw):
    assert all(adamw.emit(stage) for stage in updraft.CompiledRule.STAGES)
    with pytest.raises(updraft.UpdraftError, match="obscure"):
        adamw.emit("obscure")


def test_origin_compiled_then_memory_then_disk(tmp_path):
    text = "rule Fresh(lr = 0.125) { update(param, grad) { next param = param - lr * grad } }"
    assert updraft.compile(text, cache_dir=tmp_path).origin == "compiled"
    assert updraft.compile(text, cache_dir=tmp_path).origin == "memory"


def test_origin_is_the_disk_in_another_process(tmp_path, run_python):
    program = f"""
import updraft
print(updraft.compile({SGD!r}, cache_dir={str(tmp_path)!r}).origin)
"""
    assert run_python(program) == "compiled"
    assert run_python(program) == "disk"


MAGIC = b"updcode1"
HEADER = len(MAGIC) + 16 + 8


def fnv1a(data):
    """The 128-bit FNV-1a hash."""
    value = 0x6C62272E07BB014262B821756295C58D
    for byte in data:
        value = (value ^ byte) * ((1 << 88) + 0x13B) & ((1 << 128) - 1)
    return value


def sealed(key, descriptor, code):
    """Returns a cache entry with the right checksum for any content."""
    covered = struct.pack("<Q", len(key)) + key + struct.pack("<Q", len(descriptor))
    covered += descriptor + code
    return MAGIC + fnv1a(covered).to_bytes(16, "little") + covered


def unsealed(entry):
    """Returns the key, the rule's descriptor and the object code of a cache entry."""
    (key,) = struct.unpack_from("<Q", entry, HEADER - 8)
    start = HEADER + key
    (descriptor,) = struct.unpack_from("<Q", entry, start)
    end = start + 8 + descriptor
    return entry[HEADER:start], entry[start + 8 : end], entry[end:]


DAMAGE = {
    "a flipped bit": lambda entry, *_: entry[:-100] + bytes([entry[-100] ^ 4]) + entry[-99:],
    "the end is missing": lambda entry, *_: entry[: len(entry) // 2],
    "nothing": lambda entry, *_: b"",
    "another key's": lambda entry, key, *content: sealed(b"0" * len(key), *content),
    "sealed garbage": lambda entry, key, descriptor, code: sealed(
        key, descriptor, b"no object" * 9
    ),
    "half an object, sealed": lambda entry, key, descriptor, code: sealed(
        key, descriptor, code[: len(code) // 2]
    ),
    "an object that lacks functions, sealed": lambda entry, key, descriptor, code: sealed(
        key, descriptor, code.replace(b"_prologue", b"_prolog__")
    ),
    "half a descriptor, sealed": lambda entry, key, descriptor, code: sealed(
        key, descriptor[: len(descriptor) // 2], code
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_compiled_afresh(damage, tmp_path, run_python):
    """Each time in a new process, which then finds the new entry on the disk."""
    cache = tmp_path / "cache"
    program = f"""
import numpy
import updraft
rule = updraft.compile({SGD!r}, cache_dir={str(cache)!r})
weights = numpy.ones(3, dtype="float32")
updraft.ArrayOptimizer(rule, [weights]).step([weights.copy()])
print(rule.origin, weights.tolist())
"""
    compiled = run_python(program)
    assert compiled.startswith("compiled [0.89")
    (path,) = cache.iterdir()
    entry = path.read_bytes()
    assert sealed(*unsealed(entry)) == entry
    path.write_bytes(DAMAGE[damage](entry, *unsealed(entry)))
    assert path.read_bytes() != entry
    assert run_python(program) == compiled
    assert path.read_bytes() == entry
    assert run_python(program) == compiled.replace("compiled", "disk")


def test_source_may_be_bytes():
    assert updraft.compile(SGD.encode()).name == "SGD"


def test_settings_may_be_infinite():
    source = "rule R(high = 1) { update(param, grad) { next param = min(param - grad, high) } }"
    for value in (float("inf"), float("-inf")):
        assert updraft.compile(source, defaults={"high": value}).hypers["high"] == value


def test_dumps_the_rule_after_every_pass(tmp_path, monkeypatch):
    updraft.compile(SGD)  # now it is in the disk cache
    monkeypatch.setenv("UPDRAFT_DUMP_IR", str(tmp_path))
    updraft.compile(SGD, defaults={"lr": 0.75})
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch(r"SGD-[0-9a-f]{8}", folder.name)
    names = sorted(path.name for path in folder.iterdir())
    assert names[0] == "01-import.mlir"
    assert names[-1].endswith("-code.s")
    assert '"lr" = 7.5' in (folder / "01-import.mlir").read_text()


FACTORED = """
rule Factored(lr = 0.1) {
  state rows over row = 0 when matrix
  state seen          = 1 when !matrix
  update(param, grad) {
    let row = if matrix then row_sum(grad) + rows else 0
    let sum = if matrix then 0 else grad + seen
    next rows = row when matrix
    next seen = sum when !matrix
    next param = param - lr * (if matrix then row else sum)
  }
}
"""


def test_a_rule_for_one_kind_of_tensor_steps_alike():
    matrix, vector = numpy.ones((2, 3)), numpy.ones(3)
    stepped = []
    for of_matrices, of_vectors in (("all", "all"), ("matrices", "vectors")):
        for array, tensors in (matrix.copy(), of_matrices), (vector.copy(), of_vectors):
            storage = {"param": "f64", "grad": "f64"}
            rule = updraft.compile(FACTORED, storage=storage, tensors=tensors)
            optimizer = updraft.ArrayOptimizer(rule, [array])
            for _ in range(2):
                optimizer.step([numpy.ones_like(array)])
            stepped.append((list(rule.states), array.tolist()))
    both = ["seen", "rows"]
    assert [states for states, _ in stepped] == [both, both, ["rows"], ["seen"]]
    assert stepped[0][1] == stepped[2][1] and stepped[1][1] == stepped[3][1]
    assert stepped[0][1][0][0] == pytest.approx(1 - 0.1 * 3 - 0.1 * 6)


def test_tensors_that_a_rule_is_not_for():
    for tensors, array, text in (
        (
            "matrices",
            numpy.ones(3, "f4"),
            "has 1 dimension, but rule `Factored` is for tensors of two or more",
        ),
        (
            "vectors",
            numpy.ones((3, 3), "f4"),
            "has 2 dimensions, but rule `Factored` is for tensors of less than two",
        ),
    ):
        rule = updraft.compile(FACTORED, tensors=tensors)
        with pytest.raises(updraft.InvalidArgumentError, match=text):
            updraft.ArrayOptimizer(rule, [array])
    message = r"^`tensors` is 'all of them'; give 'all', 'vectors', 'matrices'$"
    with pytest.raises(updraft.InvalidArgumentError, match=message):
        updraft.compile(FACTORED, tensors="all of them")


def test_the_cache_tells_tensors_apart_where_that_matters(tmp_path):
    def origins(text):
        return [
            updraft.compile(text, cache_dir=tmp_path, tensors=tensors).origin
            for tensors in ("all", "vectors", "matrices", "matrices")
        ]

    comment = f"// {tmp_path}\n"
    assert origins(comment + FACTORED) == ["compiled", "compiled", "compiled", "memory"]
    assert origins(comment + SGD) == ["compiled", "memory", "memory", "memory"]


def test_the_cache_tells_tensors_apart_in_chains(tmp_path):
    (tmp_path / "part.upd").write_text(
        "transform by_rows() { update(grad) "
        "{ next grad = if matrix then grad - row_mean(grad) else grad } }"
    )
    file = tmp_path / "rule.upd"
    file.write_text(
        f'// {tmp_path}\nimport "part.upd"\nrule Own = by_rows |> Plain\n'
        "rule Library = centralize |> Plain\n"
        "rule Plain(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }\n"
    )
    for rule in "Own", "Library", "by_rows |> Plain", "centralize |> Plain":
        origins = [
            updraft.compile_file(file, rule=rule, cache_dir=tmp_path, tensors=tensors).origin
            for tensors in ("vectors", "matrices", "all", "all")
        ]
        assert origins == ["compiled", "compiled", "compiled", "memory"]
    text = "rule Plain(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
    text += f"// {tmp_path}"
    for rule, second in (None, "memory"), ("centralize |> Plain", "compiled"):
        updraft.compile(text, rule=rule, cache_dir=tmp_path, tensors="vectors")
        other = updraft.compile(text, rule=rule, cache_dir=tmp_path, tensors="matrices")
        assert other.origin == second
