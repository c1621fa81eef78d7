//===- ProbeTests.cpp - Probes, through the C API ---------------------------------------------===//
// The probes of two groups of tensors of many shapes, on one to three threads. Their bits must be
// those of the interpreter, and parameters and states must have the same bits in probed steps as in
// others.

#include "GroupRun.h"

using namespace updraft::differential;

namespace {

struct ProbeCase {
  const char *name;
  const char *source;
  std::vector<std::string> probes = {};
};

void PrintTo(const ProbeCase &probeCase, std::ostream *out) { *out << probeCase.name; }

const ProbeCase cases[] = {
    {"OfTheUpdate", R"(rule R(lr = 0.1, beta = 0.9) {
  state m = 0
  update(param, grad, step) {
    let n = lerp(m, grad, 1 - beta)
    probe ratio = norm(new_param - param) / norm(param)
    probe change = max(abs(new_m - m)) + mean(new_m)
    probe rate = lr / step
    next m = n
    next param = param - lr * n
  }
})"},
    {"Requested",
     R"(rule R(lr = 0.1) {
  state m = 0
  update(param, grad) {
    next m = m * 0.9 + grad
    next param = param - lr * m
  }
})",
     {"update_ratio", "gradient_norm", "non_finite", "zero_gradients", "alignment",
      "moments = dot(m, new_m)", "count = size() * lr"}},
    // The trust ratio waits for a sweep, and the probes of the new parameter for the next one.
    {"AfterAReduction", R"(rule R(lr = 0.1) {
  state m = 0
  update(param, grad) {
    let n = m * 0.9 + grad
    let trust = norm(param) / (norm(n) + 1e-3)
    probe trust = trust
    probe moved = norm(new_param - param)
    probe spread = rms(new_param - mean(new_param))
    next m = n
    next param = param - lr * trust * n
  }
})"},
    {"OfTheGroup", R"(rule R(lr = 0.1) {
  state total over group = 0
  state mu over tensor = 1 : f32
  update(param, grad) {
    probe global = global_norm(new_param)
    probe share = norm(grad) / group_max(abs(grad))
    probe mu = mu * 2 + new_mu
    probe total = new_total
    next total = total + group_sum(abs(grad))
    next mu = mu + norm(grad)
    next param = param - lr * grad
  }
})"},
    {"OfMatrices", R"(rule R(lr = 0.1, beta = 0.9) {
  state r over row = 0 when matrix
  state v = 0 when !matrix
  update(param, grad) {
    let r1 = if matrix then lerp(r, row_mean(grad ^ 2), 1 - beta) else 0
    let v1 = if matrix then r1 else lerp(v, grad ^ 2, 1 - beta)
    probe rows = if matrix then max(new_r) else norm(new_v)
    probe columns = if matrix then sum(column_max(abs(new_param))) else 0
    next r = r1
    next v = v1
    next param = param - lr * grad / (sqrt(v1) + 1e-8)
  }
})"},
    {"Histograms",
     R"(rule R(lr = 0.1, beta = 0.9, static bounds = [-1, -0.1, 0, 1e-3, 0.1, 1]) {
  state m = 0
  state r over row = 0 when matrix
  update(param, grad) {
    let n = lerp(m, grad, 1 - beta)
    let rows = if matrix then row_mean(n ^ 2) else 0
    probe gradients = histogram(grad, bounds)
    probe moments = histogram(abs(new_m), [0.01])
    probe rows = if matrix then histogram(new_r, [0.1, 1]) else histogram(grad, [0.1, 1])
    probe quotients = histogram(grad / (grad - grad), [0])
    next m = n
    next r = rows
    next param = param - lr * n
  }
})",
     {"gradient_sizes", "update_sizes", "bound = 2 * lr", "signs = histogram(new_param, [0])"}},
    {"HistogramOfASkippedStep", R"(rule R(lr = 0.1) {
  update(param, grad) {
    let spread = norm(grad - mean(grad))
    skip when max(grad) > 3.5
    probe gradients = histogram(grad, [-1, 1])
    probe relative = histogram(grad / spread, [-0.1, 0.1])
    next param = param - lr * grad
  }
})"},
    {"OfASkippedStep", R"(rule R(lr = 0.1) {
  state m = 0
  update(param, grad) {
    skip when !isfinite(sum(grad)) || max(grad) > 3.5
    probe largest = max(grad)
    probe moved = norm(new_param - param)
    probe spread = norm(grad - mean(grad))
    next m = m + grad
    next param = param - lr * m
  }
})"},
    {"OfAChain",
     R"(transform watched() {
  update(grad) {
    probe raw = norm(grad)
    next grad = clamp(grad, -1, 1)
  }
}
transform twice(part = 0.5) {
  update(param, new_param) {
    probe moved = norm(new_param - param)
    next param = lerp(param, new_param, part)
  }
}
rule S(lr = 0.1) {
  update(param, grad) {
    probe moved = norm(new_param - param)
    next param = param - lr * grad
  }
}
rule R = watched |> S |> twice)",
     {"gradient_norm", "update_norm", "scaled = part * lr"}},
};

class Probes : public testing::TestWithParam<ProbeCase> {};

TEST_P(Probes, AreAsInterpretedOnAnyNumberOfThreads) {
  for (const auto &[dtype, threads, numerics, every] :
       {std::tuple(StorageType::F32, 1, "ieee", 1), std::tuple(StorageType::BF16, 2, "ieee", 2),
        std::tuple(StorageType::F64, 3, "ieee", 1), std::tuple(StorageType::F32, 3, "torch", 3),
        std::tuple(StorageType::F32, 2, "fast", 1), std::tuple(StorageType::F32, 2, "ieee", 0)}) {
    RuleCase ruleCase;
    ruleCase.source = GetParam().source;
    ruleCase.filename = "probes.upd";
    ruleCase.rule = ruleCase.source.find("rule R =") != std::string::npos ? "R" : "";
    ruleCase.storage = {{"param", dtype}, {"grad", dtype}};
    ruleCase.numerics = numerics;
    ruleCase.probes = GetParam().probes;
    GroupRun run;
    ASSERT_NO_FATAL_FAILURE(run.make(ruleCase, manyShapes(), threads));
    ASSERT_NO_FATAL_FAILURE(run.probeEvery(every));
    for (int step = 1; step <= 5; ++step)
      ASSERT_NO_FATAL_FAILURE(run.step(step)) << threads << " threads, " << numerics;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Probes, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
