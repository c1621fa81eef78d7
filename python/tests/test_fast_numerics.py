"""The numerics mode `fast` against `ieee`: every shipped rule over 20 steps, in f32.

docs/numerics.md states the bound, in units in the last place per step at the scale of the
parameter: the largest magnitude that its elements have had.
"""

import numpy
import pytest

import updraft

from .conftest import RULES
from .stepping import SHAPES, STEPS, Closeness
from .test_against_torch import CASES

MAX_ULP_PER_STEP = 2
# An inverse fourth root of a factor below full rank magnifies errors.
MAX_ULP_PER_STEP_OF = {"shampoo": 64}
SETTINGS = [(path.stem, {}) for path in sorted(RULES.glob("*.upd"))]
SETTINGS += [(case.rule, case.settings) for case in CASES if case.settings]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
def test_twenty_steps_are_close(name, settings):
    generator = numpy.random.default_rng(7)

    def randoms():
        return [generator.standard_normal(shape).astype("float32") for shape in SHAPES]

    before = randoms()
    params, optimizers = {}, []
    for numerics in ("ieee", "fast"):
        rule = updraft.compile_file(RULES / f"{name}.upd", defaults=settings, numerics=numerics)
        params[numerics] = [param.copy() for param in before]
        optimizers.append(updraft.ArrayOptimizer(rule, params[numerics]))
    closeness = Closeness(params["ieee"], params["fast"])
    for step in range(1, STEPS + 1):
        grads = randoms()
        for optimizer in optimizers:
            optimizer.step(grads)
        closeness.check(step, MAX_ULP_PER_STEP_OF.get(name, MAX_ULP_PER_STEP))
