//===- trainer.cpp - Learns handwritten digits on parameter servers ---------------------------===//
// Two trainers share the parameters on the workers. Each has half of the digits and works at its
// own pace: it reads the parameters, computes gradients, pushes them and steps.

#include "Network.h"

#include <updraft/dist/Client.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace dist = updraft::dist;

static constexpr int trainers = 2, batch = 32, steps = 200;

/// Reads what digits.py has written.
static std::vector<Digit> readDigits(const std::string &path) {
  std::ifstream file(path);
  std::vector<Digit> digits;
  for (Digit digit; file >> digit.pixels[0];) {
    for (int i = 1; i < 64; ++i)
      file >> digit.pixels[i];
    for (float &pixel : digit.pixels)
      pixel /= 16;
    file >> digit.label;
    digits.push_back(digit);
  }
  if (digits.empty())
    throw std::runtime_error("there are no digits in `" + path + "`");
  return digits;
}

static std::string readText(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read `" + path + "`");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Creates the optimizer, or finds the one that the other trainer has created. Waits until trainer
/// 0 has written the parameters.
static dist::Optimizer openOptimizer(dist::Client &client, const dist::RuleText &rule) {
  const std::vector<dist::ParameterGroup> groups = {
      {{"weights1", "weights2"}, {{"lr", 1e-2}}},
      {{"bias1", "bias2"}, {{"lr", 1e-2}, {"weight_decay", 0}}}};
  for (int tries = 0;; ++tries) {
    try {
      return client.createOptimizer("adamw", rule, groups);
    } catch (const std::invalid_argument &) { // no worker has them
      if (tries == 300)
        throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

static void train(const dist::ClientOptions &options, int trainer) {
  const std::vector<Digit> digits = readDigits("digits.txt");
  const size_t trainCount = digits.size() * 4 / 5;

  dist::Client client(options);
  Network network;
  if (trainer == 0) {
    network.initialize();
    client.put(network.tensors());
  }
  dist::Optimizer optimizer = openOptimizer(client, {readText("../../rules/adamw.upd")});

  size_t next = trainer;
  for (int step = 0; step < steps; ++step) {
    client.get(network.tensors());
    Network sums;
    float loss = 0;
    for (int i = 0; i < batch; ++i) {
      loss += network.addGradient(digits[next], 1.0f / batch, sums) / batch;
      next += trainers;
      if (next >= trainCount)
        next = trainer;
    }
    std::map<std::string, dist::Gradient> gradients;
    for (const auto &[name, tensor] : sums.tensors())
      gradients.emplace(name, tensor);

    dist::Context context = optimizer.openContext();
    context.push(gradients);
    context.step();
    if (step % 50 == 0)
      std::printf("trainer %d, step %3d: loss %.3f\n", trainer, step, loss);
  }

  client.get(network.tensors());
  int right = 0;
  for (size_t i = trainCount; i < digits.size(); ++i)
    right += network.isRightAbout(digits[i]);
  std::printf("trainer %d, accuracy %.3f\n", trainer, double(right) / (digits.size() - trainCount));
}

int main(int argc, char **argv) {
  dist::ClientOptions options;
  std::string trainer;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--trainer")
      trainer = argv[i + 1];
    else if (option == "--workers")
      for (std::stringstream list(argv[i + 1]); list.good();)
        std::getline(list, options.workers.emplace_back(), ',');
  }
  if ((trainer != "0" && trainer != "1") || options.workers.empty()) {
    std::fprintf(stderr, "usage: %s --workers ADDRESS,... --trainer 0|1\n", argv[0]);
    return 2;
  }
  try {
    train(options, trainer == "1");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
