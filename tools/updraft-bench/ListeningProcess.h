//===- ListeningProcess.h - Another process that serves gRPC ------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_BENCH_LISTENINGPROCESS_H
#define UPDRAFT_TOOLS_BENCH_LISTENINGPROCESS_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace updraft::bench {

/// A process that prints "listening on ADDRESS" once clients can connect. The destructor ends it
/// with SIGTERM.
class ListeningProcess {
public:
  /// Throws std::runtime_error if the program can't be started, or ends before it listens.
  explicit ListeningProcess(const std::vector<std::string> &command);
  ~ListeningProcess();
  ListeningProcess(const ListeningProcess &) = delete;
  ListeningProcess &operator=(const ListeningProcess &) = delete;

  const std::string &address() const { return listeningOn; }

private:
  void end();

  pid_t process = -1;
  std::string listeningOn;
};

} // namespace updraft::bench

#endif // UPDRAFT_TOOLS_BENCH_LISTENINGPROCESS_H
