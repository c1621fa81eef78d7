//===- RunningWorker.h - A parameter server in the test's process -------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_WORKER_RUNNINGWORKER_H
#define UPDRAFT_UNITTESTS_WORKER_RUNNINGWORKER_H

#include "runtime/grpc/WorkerService.h"
#include "runtime/server/Refusal.h"
#include "updraft-c/compiler.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace updraft::worker {

/// The text of rules/NAME.upd.
inline std::string textOfRule(const std::string &name) {
  std::ifstream file(UPDRAFT_RULES_DIR "/" + name + ".upd");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline server::RulePointer compiled(const server::RuleRequest &request) {
  upd_rule *rule = nullptr;
  if (upd_compile(request.source.data(), request.source.size(), nullptr, nullptr, &rule) != UPD_OK)
    throw server::Refusal(server::Reason::InvalidArgument, upd_last_error());
  return {rule, upd_rule_release};
}

/// Listens on a free port.
struct RunningWorker {
  explicit RunningWorker(uint64_t epoch = 7)
      : service(server, {"updraft-worker test", epoch, 4 << 20}) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    listening = builder.BuildAndStart();
  }
  ~RunningWorker() { listening->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port); }

  server::Server server{{}, compiled, [] { return std::chrono::steady_clock::now(); }};
  WorkerService service;
  int port = 0;
  std::unique_ptr<grpc::Server> listening;
};

} // namespace updraft::worker

#endif // UPDRAFT_UNITTESTS_WORKER_RUNNINGWORKER_H
