// Steps each parameter as its gradient arrives in the backward, and frees the gradient: never more
// than a few gradients exist at the same time.
//
// usage: network PACKAGE
//
// Trains a network twice from the same start: with one step after the backward, and with a step of
// each parameter in its hook. Prints the memory that each needed besides parameters and states, and
// the last losses, which are the same.

#include <updraft/Package.h>
#include <updraft/torch.h>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

namespace {

constexpr int layers = 8;
constexpr int64_t width = 1024, batch = 16;
constexpr int steps = 5;

using updraft::torch::Optimizer;

/// Counts the bytes of torch's tensors.
class TensorMemory : public c10::MemoryReportingInfoBase {
public:
  void reportMemoryUsage(void *, int64_t bytes, size_t, size_t, c10::Device) override {
    now += bytes;
    largest = std::max(largest, now);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t now = 0, largest = 0;
};

class StepInBackward : public torch::autograd::PostAccumulateGradHook {
public:
  StepInBackward(const std::shared_ptr<const updraft::Rule> &rule, const torch::Tensor &parameter)
      : optimizer(rule, std::vector<torch::Tensor>{parameter}) {}

  void operator()(const torch::Tensor &parameter) override {
    optimizer.step();
    parameter.mutable_grad().reset();
  }

private:
  Optimizer optimizer;
};

struct Result {
  double loss;
  int64_t bytes; // of tensors besides parameters, at most; states are the library's
};

Result train(const std::shared_ptr<const updraft::Rule> &rule, bool inBackward) {
  const auto memory = std::make_shared<TensorMemory>();
  const c10::DebugInfoGuard counted(c10::DebugInfoKind::PROFILER_STATE, memory);

  torch::manual_seed(1);
  torch::nn::Sequential network;
  for (int i = 0; i < layers; ++i)
    network->push_back(torch::nn::Linear(width, width));
  const torch::Tensor inputs = torch::randn({batch, width}), targets = torch::randn({batch, width});

  std::unique_ptr<Optimizer> optimizer;
  if (inBackward)
    for (const torch::Tensor &parameter : network->parameters())
      torch::autograd::impl::set_post_acc_grad_hooks(
          parameter, std::make_unique<StepInBackward>(rule, parameter));
  else
    optimizer = std::make_unique<Optimizer>(rule, network->parameters());

  double last = 0;
  const int64_t before = memory->now;
  for (int step = 0; step < steps; ++step) {
    const torch::Tensor loss = torch::nn::functional::mse_loss(network->forward(inputs), targets);
    loss.backward();
    if (optimizer) {
      optimizer->step();
      optimizer->zero_grad();
    }
    last = loss.item<double>();
  }
  // A hook's optimizer keeps its parameter alive, and the parameter its hook.
  for (const torch::Tensor &parameter : network->parameters())
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  return {last, memory->largest - before};
}

void compare(const char *packagePath) {
  // The package is machine code: load only one that you trust.
  const auto package = updraft::Package::open(packagePath).value();
  const auto rule = std::make_shared<const updraft::Rule>(package.load().value());
  const Result after = train(rule, false), during = train(rule, true);
  constexpr double mebibyte = 1 << 20;
  std::printf("gradients             %7.1f MiB\n", layers * (width + 1) * width * 4 / mebibyte);
  std::printf("step after backward   %7.1f MiB, loss %.9g\n", after.bytes / mebibyte, after.loss);
  std::printf("steps in the backward %7.1f MiB, loss %.9g\n", during.bytes / mebibyte, during.loss);
  std::printf("saved                 %7.1f MiB\n", (after.bytes - during.bytes) / mebibyte);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s PACKAGE\n", argv[0]);
    return 2;
  }
  try {
    compare(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
