//===- Client.h - A client of federated training ------------------------------------*- C++ -*-===//
// Has data that it doesn't share: samples of a linear function, with noise. The scale of the inputs
// differs between clients, so that their local optima and curvatures do, too.

#ifndef UPDRAFT_EXAMPLES_CLIENT_H
#define UPDRAFT_EXAMPLES_CLIENT_H

#include <updraft/Optimizer.h>

#include <vector>

class Client {
public:
  static constexpr size_t features = 32, samples = 64, localSteps = 10;

  /// `truth` are the weights of the function.
  Client(const updraft::Rule &sgd, unsigned seed, const std::vector<float> &truth);

  /// Trains from the server's weights. Returns the change of the weights.
  std::vector<float> train(const std::vector<float> &serverWeights);

  /// The mean squared error of weights on this client's data.
  double lossOf(const std::vector<float> &weights) const;

private:
  void computeGradient();

  std::vector<float> inputs; // [samples, features]
  std::vector<float> targets = std::vector<float>(samples);
  std::vector<float> weights = std::vector<float>(features), gradient = weights;
  updraft::TensorList gradients{gradient};
  updraft::Optimizer optimizer; // of `weights`
};

#endif // UPDRAFT_EXAMPLES_CLIENT_H
