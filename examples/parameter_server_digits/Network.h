//===- Network.h - A network with a hidden layer ------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_EXAMPLES_NETWORK_H
#define UPDRAFT_EXAMPLES_NETWORK_H

#include <updraft/Tensor.h>

#include <map>
#include <string>
#include <vector>

struct Digit {
  float pixels[64]; // from 0 to 1
  int label;
};

/// The parameters, or the gradient by each of them.
struct Network {
  static constexpr int inputs = 64, width = 32, classes = 10;

  std::vector<float> weights1 = std::vector<float>(inputs * width);
  std::vector<float> bias1 = std::vector<float>(width);
  std::vector<float> weights2 = std::vector<float>(width * classes);
  std::vector<float> bias2 = std::vector<float>(classes);

  /// Views of the vectors, under the names that they have on the workers.
  std::map<std::string, updraft::TensorView> tensors();

  void initialize();

  /// Returns the logits. Also writes the values of the hidden layer, which has `width`.
  std::vector<float> run(const Digit &digit, float *hidden) const;

  /// Adds the gradient of a digit's loss, times `scale`, to `gradients`. Returns the loss.
  float addGradient(const Digit &digit, float scale, Network &gradients) const;

  bool isRightAbout(const Digit &digit) const;
};

#endif // UPDRAFT_EXAMPLES_NETWORK_H
