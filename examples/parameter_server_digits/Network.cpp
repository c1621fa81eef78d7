//===- Network.cpp - A network with a hidden layer --------------------------------------------===//

#include "Network.h"

#include <algorithm>
#include <cmath>
#include <random>

std::map<std::string, updraft::TensorView> Network::tensors() {
  return {{"weights1", {weights1.data(), {inputs, width}}},
          {"bias1", bias1},
          {"weights2", {weights2.data(), {width, classes}}},
          {"bias2", bias2}};
}

void Network::initialize() {
  std::mt19937 random(1);
  for (std::vector<float> *weights : {&weights1, &weights2})
    for (float &weight : *weights)
      weight = (float(random() % 20001) / 10000 - 1) * 0.2f;
}

std::vector<float> Network::run(const Digit &digit, float *hidden) const {
  std::copy(bias1.begin(), bias1.end(), hidden);
  for (int i = 0; i < inputs; ++i)
    for (int j = 0; j < width; ++j)
      hidden[j] += digit.pixels[i] * weights1[i * width + j];
  std::vector<float> logits = bias2;
  for (int j = 0; j < width; ++j) {
    hidden[j] = std::max(hidden[j], 0.0f);
    for (int k = 0; k < classes; ++k)
      logits[k] += hidden[j] * weights2[j * classes + k];
  }
  return logits;
}

float Network::addGradient(const Digit &digit, float scale, Network &gradients) const {
  float hidden[width];
  const std::vector<float> logits = run(digit, hidden);

  // The loss is -log(softmax(logits)[label]).
  const float largest = *std::max_element(logits.begin(), logits.end());
  float sum = 0;
  for (float logit : logits)
    sum += std::exp(logit - largest);
  float errors[classes];
  for (int k = 0; k < classes; ++k) {
    errors[k] = scale * (std::exp(logits[k] - largest) / sum - float(k == digit.label));
    gradients.bias2[k] += errors[k];
  }

  float hiddenErrors[width] = {};
  for (int j = 0; j < width; ++j) {
    if (hidden[j] == 0)
      continue;
    for (int k = 0; k < classes; ++k) {
      gradients.weights2[j * classes + k] += hidden[j] * errors[k];
      hiddenErrors[j] += weights2[j * classes + k] * errors[k];
    }
    gradients.bias1[j] += hiddenErrors[j];
  }
  for (int i = 0; i < inputs; ++i)
    for (int j = 0; j < width; ++j)
      gradients.weights1[i * width + j] += digit.pixels[i] * hiddenErrors[j];
  return std::log(sum) + largest - logits[digit.label];
}

bool Network::isRightAbout(const Digit &digit) const {
  float hidden[width];
  const std::vector<float> logits = run(digit, hidden);
  return std::max_element(logits.begin(), logits.end()) - logits.begin() == digit.label;
}
