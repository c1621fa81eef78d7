//===- trainer.cpp - Trains a network with a rule from a package ------------------------------===//
// Separates two spirals. Gradients and steps run on the program's own threads. The results don't
// depend on the number of threads.

#include "Network.h"
#include "Workers.h"

#include <updraft/Optimizer.h>
#include <updraft/Package.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

static constexpr int batch = 64, chunks = 8, steps = 300;

/// Two spirals with noise.
static std::vector<Sample> makeSamples() {
  std::mt19937 random(1);
  std::vector<Sample> samples;
  for (int i = 0; i < 512; ++i) {
    const float label = float(i % 2), turn = float(i) / 512;
    const float angle = 7 * turn + 3.14159265f * label, radius = 0.2f + 2 * turn;
    const auto noise = [&] { return (float(random() % 1000) / 1000 - 0.5f) * 0.1f; };
    samples.push_back(
        {{radius * std::cos(angle) + noise(), radius * std::sin(angle) + noise()}, label});
  }
  for (size_t i = samples.size(); i > 1; --i)
    std::swap(samples[i - 1], samples[random() % i]);
  return samples;
}

static void initialize(Network &network) {
  std::mt19937 random(2);
  const auto fill = [&](std::vector<float> &values, float bound) {
    for (float &value : values)
      value = (float(random() % 100000) / 50000 - 1) * bound;
  };
  fill(network.weights1, 2);
  fill(network.bias1, 2);
  fill(network.weights2, std::sqrt(3.0f / Network::width));
  fill(network.weights3, std::sqrt(3.0f / Network::width));
}

static updraft::TensorList tensorsOf(Network &network) {
  constexpr int width = Network::width;
  return {{network.weights1.data(), {2, width}},
          network.bias1,
          {network.weights2.data(), {width, width}},
          network.bias2,
          network.weights3,
          {network.bias3.data(), {}}};
}

/// Computes the mean loss of a batch and its gradient: a part for each chunk of it, and their sum.
static float computeGradient(Workers &workers, const Sample *samples, const Network &network,
                             std::vector<Network> &parts, Network &grads) {
  float losses[chunks] = {}, loss = 0;
  workers.run(chunks, [&](int chunk) {
    for (std::vector<float> *values : parts[chunk].all())
      std::fill(values->begin(), values->end(), 0.0f);
    for (int i = chunk; i < batch; i += chunks)
      losses[chunk] += network.addGradient(samples[i], 1.0f / batch, parts[chunk]);
  });
  const std::vector<std::vector<float> *> sums = grads.all();
  for (size_t param = 0; param < sums.size(); ++param) {
    std::vector<float> &sum = *sums[param];
    sum = *parts[0].all()[param];
    for (int chunk = 1; chunk < chunks; ++chunk) {
      const std::vector<float> &values = *parts[chunk].all()[param];
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += values[i];
    }
  }
  for (float part : losses)
    loss += part;
  return loss / batch;
}

static double accuracyOf(const std::vector<Sample> &samples, const Network &network) {
  int right = 0;
  for (const Sample &sample : samples)
    right += (network(sample) > 0) == (sample.label > 0);
  return double(right) / double(samples.size());
}

static void train(const char *path, int threadCount) {
  const updraft::Rule rule = updraft::Package::open(path).value().load().value();

  Workers workers(threadCount);
  const updraft::ThreadPool pool(workers.count(), [&](int32_t count, updraft::PoolTask task) {
    workers.run(count, [task](int i) { task(i); });
  });

  Network network, grads;
  initialize(network);
  std::vector<Network> parts(chunks);
  const updraft::ParamGroup group{tensorsOf(network), {{"weight_decay", 1e-4}}};
  updraft::Optimizer optimizer = updraft::Optimizer::create(rule, {group}, pool).value();
  const updraft::TensorList gradients = tensorsOf(grads);

  const std::vector<Sample> samples = makeSamples();
  for (int step = 0; step < steps; ++step) {
    const Sample *first = samples.data() + step * batch % samples.size();
    const float loss = computeGradient(workers, first, network, parts, grads);
    if (step % 50 == 0)
      std::printf("step %3d: loss %.4f\n", step, loss);
    // The learning rate falls as half a cosine.
    optimizer.setHyper(0, "lr", 0.002 * (1 + std::cos(3.14159265 * step / steps))).value();
    optimizer.step(gradients).value();
  }
  std::printf("accuracy %.3f\n", accuracyOf(samples, network));
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s PACKAGE.updraft [THREADS]\n", argv[0]);
    return 2;
  }
  try {
    train(argv[1], argc == 3 ? std::max(std::atoi(argv[2]), 1) : 4);
  } catch (const updraft::Exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
