"""Rules beside the same optimizers of pytorch-optimizer and heavyball, ten steps in double.

The packages are in python/requirements-ecosystem.txt. Their implementations are independent of ours
and of the transcriptions in python/published.
"""

import functools
import inspect
import sys

import numpy
import pytest
import torch

import updraft

from ..conftest import RULES
from ..stepping import Closeness
from . import heavyball_cases, pytorch_optimizer_cases
from .reference_case import TOLERANCE

SAME = pytorch_optimizer_cases.SAME + heavyball_cases.SAME
OTHER = pytorch_optimizer_cases.OTHER + heavyball_cases.OTHER

STEPS = 10
DIFFERENT = 1e-3  # of a parameter, at its scale
DOUBLE = {"param": "f64", "grad": "f64", "state": "f64"}
PACKAGES = {"pytorch_optimizer": "pytorch-optimizer", "heavyball": "heavyball"}

# The optimizers whose name in a package differs from the rule's.
ALIASES = {"signsgd": "signum", "sophiah": "sophia", "sfadamw": "schedulefreeadamw"}


def package(name):
    return pytest.importorskip(name, reason=f"{PACKAGES[name]} is not installed")


def compute_in_double(monkeypatch, module):
    """Makes a package compute in double without compiling.

    pytorch-optimizer has Newton-Schulz products in bf16 for all types of parameters.
    """
    if module.__name__ == "heavyball":
        monkeypatch.setattr(module.utils, "compile_mode", None)
        return
    name = "zero_power_via_newton_schulz_5"
    in_double = functools.partial(getattr(module.optimizer.utils, name), dtype=torch.float64)
    for path, loaded in list(sys.modules.items()):
        if path.startswith("pytorch_optimizer.") and hasattr(loaded, name):
            monkeypatch.setattr(loaded, name, in_double)


@pytest.fixture
def default_double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def made(kind, params, case):
    """Returns the package's optimizer."""
    first = next(iter(inspect.signature(kind).parameters))
    taken = torch.nn.ParameterList(params) if first == "model" else params
    if case.keys.get("use_muon"):
        taken = [{"params": params} | case.keys]
    optimizer = kind(taken, **case.their_options)
    for group in optimizer.param_groups:
        group.update(case.keys)
    return optimizer


class Gradients:
    """Gradients with a direction that stays, so that Prodigy's estimate grows.

    No element is near to 0, where constants that are added to it would matter.
    """

    def __init__(self, shapes, scale, generator):
        self.scale, self.generator = scale, generator
        self.means = [self.normal(shape) for shape in shapes]

    def normal(self, shape):
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def draw(self):
        values = [mean + 0.5 * self.normal(mean.shape) for mean in self.means]
        return [self.scale * (value + 0.5 * value.sign()) for value in values]


def step_theirs(reference, case, step, optimizer):
    """Steps the package's optimizer, and gives the rule Sophia the Hessian that is used."""
    if case.rule != "sophia":
        reference.step()
        return
    params = reference.param_groups[0]["params"]
    # The rule's Hessian is 0 at the first step, and exists from then on.
    reference.step(hessian=[param.grad.abs() * (step > 1) for param in params])
    for place, param in enumerate(params if step > 1 else []):
        moment = reference.state[param]["hessian_moment"]
        optimizer.state(place)["hessian"][...] = moment.numpy()


def share_bases(reference, optimizer):
    """Gives the package the rule's eigenvectors. Those of equal eigenvalues are a free choice."""
    for place, param in enumerate(reference.param_groups[0]["params"]):
        if param.ndim == 2:
            bases = [optimizer.state(place)[f"Q_{side}"] for side in ("left", "right")]
            reference.state[param]["Q"] = [torch.from_numpy(basis.copy()) for basis in bases]


def largest_error(case, monkeypatch):
    """Steps both, and returns the largest difference of a parameter at its scale."""
    module_name, _, name = case.theirs.partition(".")
    module = package(module_name)
    compute_in_double(monkeypatch, module)
    generator = torch.Generator().manual_seed(5)
    gradients = Gradients(case.shapes, case.scale_of_gradients, generator)
    theirs = [torch.nn.Parameter(gradients.normal(shape)) for shape in case.shapes]
    ours = [param.detach().numpy().copy() for param in theirs]
    rule = updraft.compile_file(RULES / f"{case.rule}.upd", defaults=case.options, storage=DOUBLE)
    optimizer = updraft.ArrayOptimizer(rule, ours)
    reference = made(getattr(module, name), theirs, case)
    closeness, largest = Closeness(theirs, ours), 0
    for step in range(1, STEPS + 1):
        if case.lr_drops and step == STEPS // 2 + 1:
            for group in [*reference.param_groups, *optimizer.groups]:
                group["lr"] *= 0.5
        grads = gradients.draw()
        for param, grad in zip(theirs, grads, strict=True):
            param.grad = grad.clone()
        step_theirs(reference, case, step, optimizer)
        optimizer.step([grad.numpy() for grad in grads])
        if case.theirs == "pytorch_optimizer.SOAP" and step == 1:
            share_bases(reference, optimizer)
        errors = [error / scale for error, scale in closeness.errors()]
        assert numpy.isfinite(errors).all()
        largest = max(largest, *errors)
    assert closeness.all_moved()
    return largest


pytestmark = pytest.mark.filterwarnings("ignore:Learning rate changed between steps")


@pytest.mark.usefixtures("default_double")
@pytest.mark.parametrize("case", SAME, ids=str)
def test_the_same_formula(case, monkeypatch):
    assert largest_error(case, monkeypatch) <= case.tolerance


@pytest.mark.usefixtures("default_double")
@pytest.mark.parametrize("case", OTHER, ids=str)
def test_another_formula(case, monkeypatch):
    """If this fails, the package has changed: does the case belong to SAME?"""
    assert largest_error(case, monkeypatch) > DIFFERENT, case.reason


def test_larger_tolerances_have_a_reason():
    for case in SAME:
        assert bool(case.reason) == (case.tolerance > TOLERANCE), case


def test_documentation_lists_the_differences():
    text = (RULES.parent / "docs" / "rules.md").read_text()
    listed = text.partition("## Beside other packages")[2].partition("\n## ")[0].splitlines()
    rows = [row for row in listed if row.startswith("| `")]
    assert rows == [f"| `{case.theirs}` | {case.reason} |" for case in OTHER]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_shared_rule_is_compared(name):
    """A rule that torch has is compared with torch elsewhere."""
    classes = [kind for kind in dir(package(name)) if inspect.isclass(getattr(package(name), kind))]
    theirs = {ALIASES.get(kind.lower(), kind.lower()) for kind in classes}
    rules = {path.stem.replace("_", "") for path in RULES.glob("*.upd")}
    torchs = {kind.lower() for kind in dir(torch.optim)} - {"muon"}
    compared = {
        case.rule.replace("_", "") for case in SAME + OTHER if case.theirs.startswith(name + ".")
    }
    assert theirs & rules - torchs <= compared
