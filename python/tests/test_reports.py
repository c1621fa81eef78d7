"""Reports of rules: what their documents contain, for rules of every origin."""

import html
import inspect
import json
import os
import pathlib
import shlex
import subprocess
import sys

import pytest

import updraft
from updraft import lang
from updraft.report import Report

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"
UPDRAFTC = ROOT / "build" / "release" / "bin" / "updraftc"
STAGES = ["ast", "updraft", "schedule", "loops", "llvm", "asm"]


@updraft.rule
def scaled(param, grad, *, lr=0.1, flipped=False):
    g = -grad if flipped else grad
    # A comment in the rule.
    size = lang.sqrt(g * g + 1e-8)
    return param - lr * g / size


def root_of(g):
    return lang.sqrt(g * g + 1e-8)


@updraft.rule
def calling(param, grad, *, lr=0.1):
    size = root_of(grad)
    return param - lr * grad / size


def links(report, number=0):
    """Maps each line of a source to the stages that it is linked to, and to its reasons."""
    data = report.data
    texts = {stage["stage"]: data["texts"][stage["text"]] for stage in data["stages"]}
    linked = {
        stage: {tuple(line) for place in set(text["places"]) for line in data["places"][place]}
        for stage, text in texts.items()
    }
    result = {}
    for line in data["lines"]:
        if line["source"] != number:
            continue
        key = line["source"], line["line"]
        stages = [stage for stage in texts if key in linked[stage]]
        missing = line.get("missing", {})
        reasons = {stage: missing.get(stage) or line.get("reason") for stage in texts}
        for stage in texts:
            assert (stage in stages) != bool(reasons[stage]), (line, stage)
        result[line["line"]] = stages, reasons
    return result


def test_a_traced_rule_is_shown_as_its_author_wrote_it():
    report = scaled.report()
    source = report.data["sources"][0]
    lines, first = inspect.getsourcelines(scaled.__wrapped__)
    assert source["path"].endswith("test_reports.py")
    by_line = links(report)
    shown = source["text"].splitlines()
    root = next(n for n, line in enumerate(shown, source["first"]) if "lang.sqrt" in line)
    assert by_line[root][0] == STAGES
    assert first <= source["first"] < first + len(lines)
    comment = next(n for n, line in enumerate(shown, source["first"]) if "A comment" in line)
    assert set(by_line[comment][1].values()) == {"a comment"}


def test_operations_of_a_called_function_belong_to_the_call_too():
    report = calling.report()
    (source,) = report.data["sources"]
    lines = dict(enumerate(source["text"].splitlines(), source["first"]))
    by_line = links(report)
    for text in ("return lang.sqrt(g * g", "size = root_of(grad)"):
        number = next(number for number, line in lines.items() if text in line)
        assert {*STAGES[1:]} <= {*by_line[number][0]}, text


def test_a_chain_is_linked_to_its_own_text():
    chain = updraft.chain(updraft.transforms.clip_by_value(1.0), updraft.load(RULES / "adamw.upd"))
    data = chain.report().data
    paths = [source["path"] for source in data["sources"]]
    assert any(path.endswith("adamw.upd") for path in paths), paths
    assert any("clip" in path for path in paths), paths
    for number in range(len(paths)):
        assert links(chain.report(), number)


def test_the_command_reports_the_saved_text_of_a_traced_rule(tmp_path):
    @updraft.rule
    def cubic(param, grad, *, lr=0.1):
        return param - lr * grad * grad * grad

    request = cubic.report().data["request"]
    assert request["savedAs"] == "cubic.upd"
    (tmp_path / "cubic.upd").write_text(request["text"])
    program, *arguments = shlex.split(request["command"])
    assert program == "updraftc"
    subprocess.run([UPDRAFTC, *arguments], cwd=tmp_path, check=True)
    assert (tmp_path / "report.html").exists()
    assert "savedAs" not in updraft.load(RULES / "sgd.upd").report().data["request"]


def test_a_package_has_a_report(tmp_path):
    package = tmp_path / "sgd.updraft"
    command = [UPDRAFTC, "pack", RULES / "sgd.upd", "--target=x86-64-v2", "-o", package]
    subprocess.run(command, check=True)
    report = updraft.load(package).report()
    assert report.data["name"] == "SGD"
    assert links(report)


def test_the_stages_are_those_that_emit_prints():
    rule = updraft.compile_file(RULES / "lion.upd")
    data = rule.report().data
    for stage in data["stages"]:
        text = data["texts"][stage["text"]]["text"]
        if stage["stage"] != "asm":
            assert text == rule.emit(stage["stage"]), stage["stage"]


def test_the_values_of_hoisted_scalars():
    (plan,) = updraft.load(RULES / "adamw.upd").report().data["plans"]
    prologue, sweep = plan["stages"]
    values = {scalar["formula"]: scalar["values"] for scalar in prologue["scalars"]}
    expected = [(1 - 0.999**step) ** 0.5 for step in (1, 10, 1000)]
    assert values["sqrt(1 - beta2 ^ step)"] == pytest.approx(expected, rel=1e-6)
    assert sweep["flops"] == plan["flops"] > 0
    assert plan["bytes"] == 28


def test_scalars_of_reductions_are_unknown():
    plans = updraft.load(RULES / "lamb.upd").report().data["plans"]
    stages = [stage for plan in plans for stage in plan["stages"] if stage["kind"] == "prologue"]
    unknown = [scalar.get("unknown") for stage in stages for scalar in stage["scalars"]]
    assert "depends on reductions of the gradient" in unknown
    assert None in unknown


def test_behaviour_is_that_of_the_rule():
    behaviour = updraft.load(RULES / "sgd.upd").report(defaults={"lr": 0.25}).data["behaviour"]
    constant = next(one for one in behaviour["signals"] if one["name"] == "constant")
    assert constant["updates"] == [0.25] * behaviour["steps"]
    # With gradients of 1 AdamW steps by lr, and decays the parameter, which is 1 at first.
    assert constant["adamw"][0] == pytest.approx(1e-3 + 1e-5, rel=1e-6)


def test_a_measured_step():
    report = updraft.load(RULES / "sgd.upd").report(run=True)
    measured = report.data["measured"]
    assert measured["elements"] == 4096 * 4096
    assert measured["ns"] > 0
    with pytest.raises(updraft.UnsupportedError, match="bf16"):
        updraft.load(RULES / "sgd.upd").report(storage={"param": "bf16"}, run=True)


def test_a_measured_step_of_vectors_and_of_products():
    rule = updraft.compile_file(RULES / "muon.upd", tensors="vectors")
    assert rule.report(run=True).data["measured"]["elements"] == 4096 * 4096
    rule = updraft.compile_file(RULES / "muon.upd", tensors="matrices", defaults={"ns_steps": 1})
    assert rule.report(run=True).data["measured"]["elements"] == 1024 * 1024


def test_functions_have_the_bound_of_each_type(tmp_path):
    file = tmp_path / "two.upd"
    file.write_text(
        "rule Two(lr = 0.1, tau = 3) {\n"
        "  update(param, grad, step) {\n"
        "    next param = param - lr * tanh(step / tau) * tanh(grad)\n"
        "  }\n"
        "}\n"
    )
    bounds = updraft.load(file).report().data["numerics"]["functions"]
    assert {bound["type"]: bound["function"] for bound in bounds} == {"f32": "tanh", "f64": "tanh"}
    assert len({bound["bound"] for bound in bounds}) == 2


def test_another_rule_of_the_file_is_not_compiled(tmp_path):
    file = tmp_path / "both.upd"
    file.write_text(
        "rule A(lr = 0.1) {\n  update(param, grad) {\n    next param = param - lr * grad\n  }\n}\n"
        "rule B(lr = 0.1) {\n  update(param, grad) {\n    next param = param + lr * grad\n  }\n}\n"
    )
    report = updraft.load(file, rule="B").report()
    reasons = links(report)[3][1]
    assert reasons.pop("ast") is None
    assert set(reasons.values()) == {"rule `A` is not part of what is compiled"}
    assert links(report)[8][0] == STAGES


def test_kernels_are_there_on_request():
    data = updraft.load(RULES / "sgd.upd").report(also_for="nvptx:sm_90").data
    assert [stage["stage"] for stage in data["stages"]] == [*STAGES, "gpu", "nvvm", "ptx"]
    with pytest.raises(updraft.InvalidArgumentError, match="cannot add the stages of `nowhere`"):
        updraft.load(RULES / "sgd.upd").report(also_for="nowhere")


def test_a_notebook_shows_the_page():
    report = scaled.report()
    shown = report._repr_html_()
    assert shown.startswith("<iframe ")
    page = html.unescape(shown.partition('srcdoc="')[2].partition('" style')[0])
    assert page == report.html()
    assert page.startswith("<!DOCTYPE html>")
    assert len(page) < 2**21


def test_text_of_a_rule_does_not_end_the_script():
    update = "{ update(param, grad) { next param = param - lr * grad } }"
    source = f'rule R(lr = 1)\n  require lr > 0 else "</script><!--"\n{update}'
    page = updraft.compile(source).report().html()
    content = page.partition('id="report">')[2].partition("</script>")[0]
    assert json.loads(content)["name"] == "R"
    assert "<!--" not in content


def test_saving_and_comparing(tmp_path):
    definition = updraft.load(RULES / "adamw.upd")
    before, after = definition.report(), definition.report(defaults={"amsgrad": True})
    before.save(tmp_path / "before.json")
    assert Report((tmp_path / "before.json").read_bytes()).data == before.data
    after.save(tmp_path / "after.html", compare=before)
    page = (tmp_path / "after.html").read_text()
    assert page == after.html(compare=before)
    other = json.loads(page.partition('id="other">')[2].partition("</script>")[0])
    assert other["statics"] == before.data["statics"]
    with pytest.raises(updraft.FileError):
        before.save(tmp_path / "none" / "page.html")
    with pytest.raises(updraft.InvalidArgumentError, match="not a report of Updraft"):
        Report(b"{}").html()


def test_every_compiled_rule_leaves_a_report(tmp_path):
    program = f"import updraft; updraft.compile_file({str(RULES / 'sgd.upd')!r})"
    environment = os.environ | {"UPDRAFT_REPORT": str(tmp_path), "RANK": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    (page,) = tmp_path.iterdir()
    assert page.name.startswith("SGD-")
    assert page.name.endswith("-rank1.html")
    # A second process compiles again, although the rule is in the disk cache.
    page.unlink()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert page.exists()
