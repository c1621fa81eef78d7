//===- LinkedWorks.cpp - Benchmarks of a rule that is linked into the program -----------------===//

#include "ScalarAdamW.h"
#include "Stepper.h"
#include "Work.h"
#include "adamw.h"
#include "runtime/cpu/ThreadPool.h"

using namespace updraft::bench;
using updraft::harness::check;

namespace {

/// A race of steps of AdamW on the same tensors and states, so that no contestant has the better
/// memory: of the linked rule, of the rule compiled in this process, and in a loop.
class LinkedRace {
public:
  LinkedRace(const BenchOptions &options, int64_t tensors, int64_t elements,
             const upd_pool *pool = nullptr)
      : options(options), stepper(setupOf(options, tensors, elements, pool)),
        linked(nullptr, upd_optimizer_release) {
    const std::vector<upd_tensor> &params = stepper.parameters();
    upd_optimizer *created = nullptr;
    check(adamw_create(params.data(), params.size(), nullptr, pool, &created));
    linked.reset(created);
    for (size_t i = 0; i < params.size(); ++i) {
      check(adamw_state_exp_avg(stepper.handle(), i, &m));
      check(adamw_state_exp_avg_sq(stepper.handle(), i, &v));
      check(upd_optimizer_bind_state(created, i, "exp_avg", &m));
      check(upd_optimizer_bind_state(created, i, "exp_avg_sq", &v));
      check(upd_optimizer_set_step(created, i, 1));
    }
  }

  Contestant typedStep() {
    return timed("typed header", "f32", [this] {
      const std::vector<upd_tensor> &grads = stepper.gradients();
      check(adamw_step(linked.get(), grads.data(), grads.size()));
    });
  }
  Contestant step() {
    return timed("C API", "f32", [this] { stepper.step(); });
  }

  /// Steps the last tensor.
  void runLoop() {
    const adamw_hypers hypers = adamw_default_hypers();
    scalarAdamW(static_cast<float *>(stepper.parameters().back().data),
                static_cast<const float *>(stepper.gradients().back().data),
                static_cast<float *>(m.data), static_cast<float *>(v.data),
                static_cast<size_t>(m.shape[0]), float(hypers.lr), float(hypers.beta1),
                float(hypers.beta2), float(hypers.eps), float(hypers.weight_decay), ++steps);
  }

  std::vector<Row> run(const std::string &work, std::vector<Contestant> contestants) const {
    return race(work, std::move(contestants), options.quick ? 3 : 41, options.quick ? 1e-4 : 0.1);
  }

  /// A figure whose bound holds for the sizes in the works' names.
  Figure figure(const char *is, double value, double bound, bool atLeast) const {
    return {is, value, options.quick ? std::nullopt : std::optional(bound), atLeast};
  }

private:
  static StepSetup setupOf(const BenchOptions &options, int64_t tensors, int64_t elements,
                           const upd_pool *pool) {
    StepSetup setup;
    setup.rule.file = options.rulesDir + "/adamw.upd";
    setup.tensors = options.quick ? std::min<int64_t>(tensors, 16) : tensors;
    setup.elements = options.quick ? std::min<int64_t>(elements, 100'000) : elements;
    if (pool)
      setup.pool = *pool;
    return setup;
  }

  const BenchOptions &options;
  Stepper stepper;
  updraft::harness::Optimizer linked;
  upd_tensor m{}, v{}; ///< the states of the last tensor
  int steps = 1;
};

std::vector<Row> runTyped(const BenchOptions &options, const std::string &work, int64_t tensors,
                          int64_t elements, double bound) {
  LinkedRace race(options, tensors, elements);
  std::vector<Row> rows = race.run(work, {race.typedStep(), race.step()});
  rows[0].figure = race.figure("x as long as the C API", timesAsLong(rows[0], rows[1]), bound,
                               /*atLeast=*/false);
  return rows;
}

/// A step on the caller's thread alone, beside a loop in C.
std::vector<Row> runLoop(const BenchOptions &options, const std::string &work) {
  updraft::runtime::ThreadPool callerAlone(1);
  const upd_pool pool = callerAlone.handle();
  LinkedRace race(options, 1, 10'000'000, &pool);
  std::vector<Row> rows =
      race.run(work, {race.typedStep(), timed("loop in C", "f32", [&] { race.runLoop(); })});
  rows[0].figure = race.figure("x as fast as the loop", timesAsLong(rows[1], rows[0]), 3.0,
                               /*atLeast=*/true);
  return rows;
}

} // namespace

std::vector<Work> updraft::bench::linkedWorks() {
  return {
      {"linked-adamw-1x50M", "adamw through its typed header, one tensor of 50 M f32",
       [](const BenchOptions &options) {
         return runTyped(options, "linked-adamw-1x50M", 1, 50'000'000, 1.02);
       }},
      {"linked-adamw-1000x1k", "adamw through its typed header, 1000 tensors of 1000 f32",
       [](const BenchOptions &options) {
         return runTyped(options, "linked-adamw-1000x1k", 1000, 1000, 1.05);
       }},
      {"linked-adamw-loop",
       "adamw through its typed header, one tensor of 10 M f32 on one thread, beside a loop in C",
       [](const BenchOptions &options) { return runLoop(options, "linked-adamw-loop"); }}};
}
