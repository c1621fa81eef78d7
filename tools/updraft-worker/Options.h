//===- Options.h - A worker's options -----------------------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_UPDRAFT_WORKER_OPTIONS_H
#define UPDRAFT_TOOLS_UPDRAFT_WORKER_OPTIONS_H

#include "TLSFiles.h"
#include "runtime/server/ClientTable.h"

#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace updraft::worker {

/// The members have the names and defaults that `--help` shows. Strings are empty without the
/// option.
struct Options {
  std::string listen = "127.0.0.1:7070";
  double memory = 4, clientMemory = 1; ///< GiB
  int patience = 30;                   ///< seconds of --drain
  server::ClientLimits clients;
  int lease = 60; ///< seconds
  std::string store;
  std::string durability = "step";
  int snapshotInterval = 300; ///< seconds
  int journal = 1024;         ///< MiB
  TLSFiles tls;
  std::string access, peerToken, packageKey;
  bool packagesOnly = false;
  std::vector<std::string> peers;
  std::string metrics;
  std::string timeline;
  std::string logged = "info";
  bool checkOnly = false;
};

/// Adds the options of the command line and of the file of `--config`, with their help. Parsing
/// throws CLI::ParseError for an unknown option or a value out of its range; values that depend on
/// each other are not compared. `options` outlives `app`.
void addOptions(CLI::App &app, Options &options);

} // namespace updraft::worker

#endif // UPDRAFT_TOOLS_UPDRAFT_WORKER_OPTIONS_H
