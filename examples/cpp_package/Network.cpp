//===- Network.cpp - A network with two hidden layers -----------------------------------------===//

#include "Network.h"

#include <algorithm>
#include <cmath>

namespace {
/// The outputs of the hidden layers and of the network.
struct Activations {
  static constexpr int width = Network::width;
  float hidden1[width], hidden2[width], logit;

  Activations(const Network &network, const Sample &sample) {
    for (int i = 0; i < width; ++i)
      hidden1[i] = std::tanh(network.bias1[i] + network.weights1[i] * sample.x[0] +
                             network.weights1[width + i] * sample.x[1]);
    std::copy(network.bias2.begin(), network.bias2.end(), hidden2);
    for (int j = 0; j < width; ++j)
      for (int i = 0; i < width; ++i)
        hidden2[i] += network.weights2[j * width + i] * hidden1[j];
    logit = network.bias3[0];
    for (int i = 0; i < width; ++i) {
      hidden2[i] = std::tanh(hidden2[i]);
      logit += network.weights3[i] * hidden2[i];
    }
  }
};
} // namespace

float Network::operator()(const Sample &sample) const { return Activations(*this, sample).logit; }

float Network::addGradient(const Sample &sample, float scale, Network &grads) const {
  const Activations values(*this, sample);
  // The loss is the cross-entropy log(1 + exp(logit)) - label * logit.
  const float error = scale * (1 / (1 + std::exp(-values.logit)) - sample.label);
  float back2[width];
  grads.bias3[0] += error;
  for (int i = 0; i < width; ++i) {
    grads.weights3[i] += error * values.hidden2[i];
    back2[i] = error * weights3[i] * (1 - values.hidden2[i] * values.hidden2[i]);
    grads.bias2[i] += back2[i];
  }
  for (int j = 0; j < width; ++j) {
    float back1 = 0;
    for (int i = 0; i < width; ++i) {
      back1 += weights2[j * width + i] * back2[i];
      grads.weights2[j * width + i] += values.hidden1[j] * back2[i];
    }
    back1 *= 1 - values.hidden1[j] * values.hidden1[j];
    grads.bias1[j] += back1;
    grads.weights1[j] += back1 * sample.x[0];
    grads.weights1[width + j] += back1 * sample.x[1];
  }
  return std::log1p(std::exp(-std::abs(values.logit))) + std::max(values.logit, 0.0f) -
         sample.label * values.logit;
}
