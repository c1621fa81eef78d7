//===- WorkerOptions.h - The command line of updraft-torch-worker -------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_TORCH_WORKER_WORKEROPTIONS_H
#define UPDRAFT_TOOLS_TORCH_WORKER_WORKEROPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace updraft::torch_worker {

struct WorkerOptions {
  std::string name; ///< empty: "worker" and the rank
  int rank = -1;
  int worldSize = 0;
  std::string storeHost = "localhost";
  uint16_t storePort = 29500;
  int rpcThreads = 16;
  std::vector<std::string> transports; ///< of TensorPipe; empty: all that it has
  int computeThreads = 0;              ///< 0: torch's default
  double timeout = 300;                ///< seconds to wait until all have joined
  std::string library;                 ///< libupdraft.so; empty: beside the program
  std::string publicKey;               ///< a PEM file; empty: no packages are taken
  std::vector<std::string> loads;
};

} // namespace updraft::torch_worker

#endif // UPDRAFT_TOOLS_TORCH_WORKER_WORKEROPTIONS_H
