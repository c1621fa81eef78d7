// Learns handwritten digits with LibTorch and a compiled rule from a package. Prints the loss of
// each step, in enough digits to identify the float, for a comparison with trainer.py.
//
// usage: trainer PACKAGE DIGITS STEPS [CHECKPOINT]
//
// With a CHECKPOINT, saves the optimizer and the network there halfway, and goes on with others
// that are loaded from it.

#include <updraft/Package.h>
#include <updraft/torch.h>

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int64_t batch = 32;
constexpr double rate = 1e-2;
constexpr int64_t halving = 100; // steps between two halvings of the rate

torch::nn::Sequential makeNetwork() {
  return torch::nn::Sequential(torch::nn::Linear(64, 128), torch::nn::ReLU(),
                               torch::nn::Linear(128, 10));
}

/// Weights decay, biases don't.
std::unique_ptr<updraft::torch::Optimizer>
makeOptimizer(const std::shared_ptr<const updraft::Rule> &rule,
              const torch::nn::Sequential &network) {
  std::vector<torch::Tensor> weights, biases;
  for (const torch::Tensor &parameter : network->parameters())
    (parameter.dim() > 1 ? weights : biases).push_back(parameter);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(weights);
  groups.emplace_back(biases, std::make_unique<updraft::torch::Options>(
                                  updraft::torch::Options{{"weight_decay", 0.0}}));
  return std::make_unique<updraft::torch::Optimizer>(rule, groups,
                                                     updraft::torch::Options{{"lr", rate}});
}

void train(const char *packagePath, const char *digitsPath, int64_t steps, const char *checkpoint) {
  // The package is machine code: load only one that you trust.
  const auto package = updraft::Package::open(packagePath).value();
  const auto rule = std::make_shared<const updraft::Rule>(package.load().value());

  std::ifstream file(digitsPath, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto data = torch::pickle_load(bytes).toGenericDict();
  const torch::Tensor images = data.at("images").toTensor(), labels = data.at("labels").toTensor();
  const int64_t trainCount = images.size(0) * 4 / 5;

  torch::manual_seed(1);
  torch::nn::Sequential network = makeNetwork();
  auto optimizer = makeOptimizer(rule, network);

  for (int64_t step = 0; step < steps; ++step) {
    if (checkpoint && step == steps / 2) {
      const std::string path = checkpoint;
      torch::save(network, path + ".network");
      torch::save(*optimizer, path + ".optimizer");
      network = makeNetwork();
      torch::load(network, path + ".network");
      optimizer = makeOptimizer(rule, network);
      torch::load(*optimizer, path + ".optimizer");
    }
    const int64_t first = step * batch % (trainCount - batch);
    optimizer->zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(
        network->forward(images.slice(0, first, first + batch)),
        labels.slice(0, first, first + batch));
    loss.backward();
    optimizer->step();
    if (step % halving == halving - 1)
      for (auto &group : optimizer->param_groups())
        group.options().set_lr(group.options().get_lr() / 2);
    std::printf("%lld %.9g\n", static_cast<long long>(step), loss.item<double>());
  }

  const torch::NoGradGuard disabled;
  const torch::Tensor right =
      network->forward(images.slice(0, trainCount)).argmax(1) == labels.slice(0, trainCount);
  std::printf("accuracy %.3f\n", right.to(torch::kFloat).mean().item<double>());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: %s PACKAGE DIGITS STEPS [CHECKPOINT]\n", argv[0]);
    return 2;
  }
  try {
    train(argv[1], argv[2], std::atoll(argv[3]), argc == 5 ? argv[4] : nullptr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
