//===- GroupTests.cpp - Rules with values of all extents, through the C API -------------------===//
// Reductions, rows and columns, scalar states, skipped steps and random numbers, for two groups of
// tensors of many shapes, some without a gradient now and then, on one to three threads. Parameters
// and states must be bitwise equal to the interpreter's.

#include "GroupRun.h"

using namespace updraft::differential;

namespace {

struct GroupCase {
  const char *name;
  const char *source;
};

void PrintTo(const GroupCase &groupCase, std::ostream *out) { *out << groupCase.name; }

const GroupCase cases[] = {
    {"Clipped", R"(rule R(lr = 0.1, limit = 0.5) {
  state m = 0
  update(param, grad) {
    let k = min(1, limit / (global_norm(grad) + 1e-6))
    let n = lerp(m, grad * k, 0.1)
    next m = n
    next param = param - lr * n
  }
})"},
    {"LayerWise", R"(rule R(lr = 0.1) {
  state m = 0
  update(param, grad) {
    let n = m * 0.9 + grad
    let trust = norm(param) / (norm(n) + mean(abs(grad)) + max(grad) + 1e-3)
    next m = n
    next param = param - lr * trust * n
  }
})"},
    {"Factored", R"(rule R(lr = 0.1, beta = 0.9, eps = 1e-8) {
  state r over row = 0 when matrix
  state c over column = 0.5 when matrix
  state v = 0 when !matrix
  update(param, grad) {
    let r1 = if matrix then lerp(r, row_mean(grad ^ 2), 1 - beta) else 0
    let c1 = if matrix then lerp(c, column_mean(grad ^ 2) + column_max(grad), 1 - beta) else 0
    let s = if matrix then r1 * c1 / max(mean(r1), eps) else lerp(v, grad ^ 2, 1 - beta)
    next r = r1
    next c = c1
    next v = s
    next param = param - lr * grad / (sqrt(abs(s)) + eps) / (1 + global_norm(grad))
  }
})"},
    // Each tensor runs through all of its sweeps independently.
    {"FactoredAndClipped", R"(rule R(lr = 0.1, beta = 0.9, eps = 1e-8) {
  state r over row = 0 when matrix
  state c over column = 0 when matrix
  state v = 0 when !matrix
  update(param, grad) {
    let r1 = if matrix then lerp(r, row_mean(grad ^ 2), 1 - beta) else 0
    let c1 = if matrix then lerp(c, column_mean(grad ^ 2), 1 - beta) else 0
    let s = if matrix then r1 * c1 / max(batch_mean(r1), eps) else lerp(v, grad ^ 2, 1 - beta)
    let u = grad / (sqrt(s) + eps)
    next r = r1
    next c = c1
    next v = s
    next param = param - lr * norm(param) * u / max(1, rms(u))
  }
})"},
    {"ScalarStates", R"(rule R(lr = 0.1) {
  state mu over tensor = 1 : f32
  state total over group = 0
  update(param, grad, step) {
    let product = mu * (1 - 0.5 ^ step) + norm(grad)
    let all = total + group_sum(abs(grad))
    next mu = product
    next total = all
    next param = param - lr * grad / (product + all + 1)
  }
})"},
    {"Skipped", R"(rule R(lr = 0.1) {
  state m = 0
  state count over tensor = 0
  update(param, grad) {
    skip when !isfinite(sum(grad)) || max(grad) > 3.5
    next m = m + grad
    next count = count + 1
    next param = param - lr * m / (count + 1)
  }
})"},
    {"SkippedBesideANorm", R"(rule R(lr = 0.1) {
  state m = 0
  update(param, grad) {
    let n = global_norm(grad)
    skip when sum(grad) > 0
    next m = m + grad
    next param = param - lr * m / (n + 1)
  }
})"},
    // Matrices need the second sum first, and vectors only the last one.
    {"ReducedInOrder", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let unused = group_max(grad * param)
    let own = if matrix then row_sum(grad) * grad else grad
    let a = group_sum(own)
    let b = group_sum(param)
    let c = group_sum(grad)
    let scale = if matrix then a + b * b - c else c
    next param = param - lr * grad * (a / (1 + abs(a + scale)))
  }
})"},
    {"NeededByMatrices", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let total = group_sum(abs(grad))
    let own = if matrix then row_sum(grad / total) else 0
    next param = param - lr * own * sum(own + grad)
  }
})"},
    {"OfRowsThenElements", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let a = group_sum(grad)
    let b = group_max(if matrix then column_sum(grad) * a else grad * a)
    let c = group_sum(grad * b)
    next param = param - lr * grad * b / (1 + abs(c))
  }
})"},
    // Sweeps over elements run before those over square matrices.
    {"OfSquaresThenElements", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let a = group_sum(if matrix then gram(grad) else grad)
    let b = group_sum(param)
    next param = param - lr * grad * (a / (1 + abs(a + b * b)))
  }
})"},
    // Skipped matrices take part in the second sum, which vectors need.
    {"SkippedMatrices", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let a = group_sum(abs(grad))
    let b = group_sum(if matrix then grad / (1 + a) else grad)
    skip when if matrix then a > 0 else a < 0
    next param = param - lr * grad * b
  }
})"},
    {"GroupStateOfMatrices", R"(rule R(lr = 0.1) {
  state count over group = 2 when matrix
  state other over group = 3 when !matrix
  update(param, grad) {
    let n = if matrix then count else other
    next count = n + 1
    next other = n * 2
    next param = param - lr * grad / n
  }
})"},
    {"StartsFromRows", R"(rule R(lr = 0.1) {
  state r over row    = row_mean(grad) + mean(param) when matrix
  state c over column = column_norm(param)           when matrix
  state t over tensor = sum(abs(grad)) + step
  state m             = param
  update(param, grad) {
    skip when max(grad) > 3.5
    next r = if matrix then r * 0.5 + row_max(param) else 0
    next t = t * 2
    next m = m * 0.5 + grad
    next param = param - lr * m * (if matrix then r * c else 1) / t
  }
})"},
    // Each kind of tensor needs its own sum.
    {"OneForEachKind", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let a = group_sum(grad)
    let b = group_sum(param)
    next param = param - lr * (if matrix then a else b)
  }
})"},
    {"Dithered", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let n = random() + random() - 1
    next param = param - lr * (grad + n * mean(abs(grad)))
  }
})"},
};

class Groups : public testing::TestWithParam<GroupCase> {};

TEST_P(Groups, StepAsInterpretedOnAnyNumberOfThreads) {
  for (const auto &[dtype, states, threads, numerics] :
       {std::tuple(StorageType::F32, StorageType::F32, 1, "ieee"),
        std::tuple(StorageType::BF16, StorageType::BF16, 2, "ieee"),
        std::tuple(StorageType::F64, StorageType::F64, 3, "ieee"),
        std::tuple(StorageType::F32, StorageType::Q8Linear, 3, "ieee"),
        std::tuple(StorageType::BF16, StorageType::Q8Companded, 2, "ieee"),
        std::tuple(StorageType::F64, StorageType::Q8Linear, 1, "ieee"),
        std::tuple(StorageType::F32, StorageType::F32, 2, "fast"),
        std::tuple(StorageType::F32, StorageType::F32, 2, "torch")}) {
    RuleCase ruleCase;
    ruleCase.source = GetParam().source;
    ruleCase.filename = "group.upd";
    ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
    ruleCase.numerics = numerics;
    if (states != dtype)
      ruleCase.storage.emplace_back("state", states);
    GroupRun run;
    ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, manyShapes(), threads));
    for (int step = 1; step <= 4; ++step)
      ASSERT_NO_FATAL_FAILURE(run.step(step)) << threads << " threads, " << numerics;
  }
}

/// Enough tensors for separate windows per thread, which run through all sweeps one after another.
TEST_P(Groups, StepWindowByWindow) {
  const Shapes shapes(24, {70, 130});
  for (int32_t threads : {1, 2, 3}) {
    RuleCase ruleCase;
    ruleCase.source = GetParam().source;
    ruleCase.filename = "group.upd";
    GroupRun run;
    ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, shapes, threads));
    for (int step = 1; step <= 2; ++step)
      ASSERT_NO_FATAL_FAILURE(run.step(step)) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(All, Groups, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
