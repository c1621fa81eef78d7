//===- Client.cpp - A client of federated training --------------------------------------------===//

#include "Client.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

Client::Client(const updraft::Rule &sgd, unsigned seed, const std::vector<float> &truth) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return float(random() % 20001) / 10000 - 1; };
  std::vector<float> scales(features);
  for (float &scale : scales)
    scale = 1 + 0.8f * uniform();
  for (float &target : targets) {
    target = 0.05f * uniform();
    for (size_t i = 0; i < features; ++i) {
      inputs.push_back(scales[i] * uniform());
      target += truth[i] * inputs.back();
    }
  }
  optimizer =
      updraft::Optimizer::create(sgd, {updraft::ParamGroup{{weights}, {{"lr", 0.1}}}}).value();
}

/// The error of a prediction.
static float errorOf(const std::vector<float> &weights, const float *input, float target) {
  return std::inner_product(weights.begin(), weights.end(), input, -target);
}

void Client::computeGradient() {
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  for (size_t sample = 0; sample < samples; ++sample) {
    const float *input = inputs.data() + sample * features;
    const float error = errorOf(weights, input, targets[sample]) * 2 / samples;
    for (size_t i = 0; i < features; ++i)
      gradient[i] += error * input[i];
  }
}

std::vector<float> Client::train(const std::vector<float> &serverWeights) {
  weights = serverWeights;
  for (size_t step = 0; step < localSteps; ++step) {
    computeGradient();
    optimizer.step(gradients).value();
  }
  std::vector<float> delta(features);
  std::transform(weights.begin(), weights.end(), serverWeights.begin(), delta.begin(),
                 std::minus<float>());
  return delta;
}

double Client::lossOf(const std::vector<float> &weights) const {
  double sum = 0;
  for (size_t sample = 0; sample < samples; ++sample) {
    const double error = errorOf(weights, inputs.data() + sample * features, targets[sample]);
    sum += error * error;
  }
  return sum / samples;
}
