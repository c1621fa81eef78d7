//===- federated.cpp - Federated training with FedAdam ----------------------------------------===//
// In each round a server sends its weights to some of the clients. They train with their own data,
// and return the change of the weights. The server applies FedAdam to the mean of the changes. Both
// rules come from packages.

#include "Client.h"

#include <updraft/Optimizer.h>
#include <updraft/Package.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>

static constexpr size_t clientCount = 20, clientsPerRound = 5, rounds = 200;

static double meanLoss(const std::vector<std::unique_ptr<Client>> &clients,
                       const std::vector<float> &weights) {
  double sum = 0;
  for (const auto &client : clients)
    sum += client->lossOf(weights);
  return sum / double(clients.size());
}

static void train(const char *serverPath, const char *clientPath) {
  const updraft::Rule fedAdam = updraft::Package::open(serverPath).value().load().value();
  const updraft::Rule sgd = updraft::Package::open(clientPath).value().load().value();

  std::mt19937 random(1);
  std::vector<float> truth(Client::features);
  for (float &value : truth)
    value = float(random() % 20001) / 10000 - 1;
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned i = 0; i < clientCount; ++i)
    clients.push_back(std::make_unique<Client>(sgd, i, truth));

  std::vector<float> weights(Client::features), pseudoGradient(Client::features);
  const updraft::ParamGroup group{{weights}, {{"lr", 0.05}}};
  updraft::Optimizer server = updraft::Optimizer::create(fedAdam, {group}).value();
  const updraft::TensorList gradients{pseudoGradient};

  for (size_t round = 0; round <= rounds; ++round) {
    if (round % 50 == 0)
      std::printf("round %3zu: loss %.5f\n", round, meanLoss(clients, weights));
    std::fill(pseudoGradient.begin(), pseudoGradient.end(), 0.0f);
    for (size_t i = 0; i < clientsPerRound; ++i) {
      std::swap(clients[i], clients[i + random() % (clientCount - i)]);
      const std::vector<float> delta = clients[i]->train(weights);
      for (size_t j = 0; j < delta.size(); ++j)
        pseudoGradient[j] -= delta[j] / clientsPerRound;
    }
    server.step(gradients).value();
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SERVER.updraft CLIENT.updraft\n", argv[0]);
    return 2;
  }
  try {
    train(argv[1], argv[2]);
  } catch (const updraft::Exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
