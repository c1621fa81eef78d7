// Times a step of AdamW through updraft::torch::Optimizer beside the C API and beside LibTorch's
// own AdamW, in alternate rounds of one process. All step the same tensors and states, so that none
// has the better memory.
//
// usage: libtorch-times RULES [ROUNDS]
//
// Prints the median time of each, and for Updraft the difference per tensor.

#include "updraft/Compiler.h"
#include "updraft/torch.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using Tensors = std::vector<at::Tensor>;

Tensors parametersOf(int64_t count, int64_t elements) {
  Tensors result;
  for (int64_t i = 0; i < count; ++i) {
    result.push_back(at::randn({elements}).requires_grad_(true));
    result.back().mutable_grad() = at::randn({elements});
  }
  return result;
}

constexpr const char *stateNames[] = {"exp_avg", "exp_avg_sq"};

/// The C API on the same threads, with views that are made once. It steps the parameters and states
/// of `other`, which has taken one step.
class CStep {
public:
  CStep(const updraft::torch::Optimizer &other, const Tensors &params) {
    using updraft::torch::detail::check;
    using updraft::torch::detail::viewOf;
    std::vector<upd_tensor> views;
    for (const at::Tensor &param : params) {
      views.push_back(viewOf(param, "a parameter"));
      grads.push_back(viewOf(param.grad(), "a gradient"));
    }
    const upd_group group{views.data(), nullptr, views.size(), nullptr, 0};
    check(upd_optimizer_create(other.rule().get(), &group, 1, updraft::torch::intraOpPool(),
                               &optimizer));
    for (size_t i = 0; i < params.size(); ++i) {
      for (const char *name : stateNames) {
        states.push_back(other.state(params[i], name));
        const upd_tensor view = viewOf(states.back(), "a state");
        check(upd_optimizer_bind_state(optimizer, i, name, &view));
      }
      check(upd_optimizer_set_step(optimizer, i, 1));
    }
  }
  ~CStep() { upd_optimizer_release(optimizer); }
  CStep(const CStep &) = delete;

  void step() {
    updraft::torch::detail::check(upd_optimizer_step(optimizer, grads.data(), grads.size()));
  }

private:
  Tensors states;
  std::vector<upd_tensor> grads;
  upd_optimizer *optimizer = nullptr;
};

/// LibTorch's AdamW over the parameters and states of `other`, which has taken one step.
std::unique_ptr<torch::optim::AdamW> torchsAdamW(const updraft::torch::Optimizer &other,
                                                 const Tensors &params) {
  auto result = std::make_unique<torch::optim::AdamW>(params);
  for (const at::Tensor &param : params) {
    auto state = std::make_unique<torch::optim::AdamWParamState>();
    state->step(1);
    state->exp_avg(other.state(param, stateNames[0]));
    state->exp_avg_sq(other.state(param, stateNames[1]));
    result->state()[param.unsafeGetTensorImpl()] = std::move(state);
  }
  return result;
}

double microseconds(const std::function<void()> &run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

/// Returns the medians.
std::vector<double> alternate(const std::vector<std::function<void()>> &runs, int rounds) {
  std::vector<std::vector<double>> times(runs.size());
  for (int round = -2; round < rounds; ++round)
    for (size_t i = 0; i < runs.size(); ++i)
      if (const double time = microseconds(runs[(i + round + 2) % runs.size()]); round >= 0)
        times[(i + round + 2) % runs.size()].push_back(time);
  std::vector<double> result;
  for (const auto &each : times)
    result.push_back(median(each));
  return result;
}

void compare(const std::shared_ptr<const updraft::Rule> &rule, int64_t count, int64_t elements,
             bool besideTorch, int rounds) {
  const Tensors params = parametersOf(count, elements);
  updraft::torch::Optimizer ours(rule, params);
  ours.step();
  CStep plain(ours, params);
  const auto step = [&] { ours.step(); };
  std::vector<double> times = alternate({step, [&] { plain.step(); }}, rounds);
  std::printf("%5lld x %9lld: updraft::torch %9.1f us, C API %9.1f us (%+.2f %%, %+.1f ns a "
              "tensor)",
              static_cast<long long>(count), static_cast<long long>(elements), times[0], times[1],
              (times[0] / times[1] - 1) * 100,
              (times[0] - times[1]) * 1e3 / static_cast<double>(count));
  if (besideTorch) {
    // Both of ours follow a step of torch, which takes so long that the caches have other data.
    const auto theirs = torchsAdamW(ours, params);
    const auto theirStep = [&] { theirs->step(); };
    times = alternate({step, theirStep, [&] { plain.step(); }, theirStep}, rounds);
    std::printf("; after torch's: updraft::torch %9.1f us, C API %9.1f us; torch::optim::AdamW "
                "%9.1f us (%.1f times, C API %.1f times)",
                times[0], times[2], times[1], times[1] / times[0], times[1] / times[2]);
  }
  std::printf("\n");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s RULES [ROUNDS]\n", argv[0]);
    return 2;
  }
  try {
    const int rounds = argc == 3 ? std::atoi(argv[2]) : 100;
    const auto rule = std::make_shared<const updraft::Rule>(
        updraft::compileFile(std::string(argv[1]) + "/adamw.upd").value());
    std::printf("%d threads\n", at::get_num_threads());
    compare(rule, 1000, 1000, true, 10 * rounds);
    compare(rule, 160, 160'000, true, rounds);
    compare(rule, 1, 50'000'000, false, rounds / 2);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
