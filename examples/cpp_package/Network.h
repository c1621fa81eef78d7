//===- Network.h - A network with two hidden layers ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_EXAMPLES_NETWORK_H
#define UPDRAFT_EXAMPLES_NETWORK_H

#include <vector>

/// A point of the plane, and its class.
struct Sample {
  float x[2];
  float label; // 0 or 1
};

/// The parameters of the network, or their gradients. Matrices are row-major.
struct Network {
  static constexpr int width = 224;

  std::vector<float> weights1 = std::vector<float>(2 * width); // [2, width]
  std::vector<float> bias1 = std::vector<float>(width);
  std::vector<float> weights2 = std::vector<float>(width * width); // [width, width]
  std::vector<float> bias2 = std::vector<float>(width);
  std::vector<float> weights3 = std::vector<float>(width);
  std::vector<float> bias3 = std::vector<float>(1);

  std::vector<std::vector<float> *> all() {
    return {&weights1, &bias1, &weights2, &bias2, &weights3, &bias3};
  }

  /// The logarithm of the odds that the sample's class is 1.
  float operator()(const Sample &sample) const;

  /// Adds the gradient of a sample's loss, times `scale`, to `grads`. Returns the loss.
  float addGradient(const Sample &sample, float scale, Network &grads) const;
};

#endif // UPDRAFT_EXAMPLES_NETWORK_H
