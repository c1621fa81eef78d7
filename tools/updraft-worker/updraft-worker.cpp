//===- updraft-worker.cpp - A parameter server ------------------------------------------------===//

#include "AccessFile.h"
#include "CompileProcess.h"
#include "Credentials.h"
#include "InputFile.h"
#include "Listening.h"
#include "Log.h"
#include "Metrics.h"
#include "Options.h"
#include "SignedPackage.h"
#include "SnapshotSchedule.h"
#include "Upkeep.h"
#include "Verification.h"
#include "runtime/files/FileReplacement.h"
#include "runtime/grpc/FreedMemory.h"
#include "runtime/package/Package.h"
#include "runtime/server/Refusal.h"
#include "runtime/server/Server.h"
#include "runtime/store/FolderDisk.h"
#include "updraft-c/timeline.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <grpc/support/log.h>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::worker;

namespace {
constexpr size_t largestMessage = size_t(4) << 20;

uint64_t randomNumber() {
  std::random_device random;
  return uint64_t(random()) << 32 | random();
}

/// The token in a file, without the space around it; empty without a path. Throws
/// std::runtime_error for text that can't be one.
std::string readToken(const std::string &path) {
  if (path.empty())
    return {};
  std::string token = readInput(path);
  token.erase(0, token.find_first_not_of(" \t\r\n"));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  const bool isValid =
      std::all_of(token.begin(), token.end(), [](char one) { return one > ' ' && one < 0x7f; });
  if (token.empty() || !isValid)
    throw std::runtime_error(
        fmt::format("`{}` has no token: a line of visible ASCII characters", path));
  return token;
}

/// The contents of the files that options name.
struct FileContents {
  std::string packageKey, peerToken;  ///< empty without one
  std::unique_ptr<AccessFile> access; ///< null: everyone can do everything
};

/// Throws std::runtime_error for options that don't fit each other, or files that can't be read.
FileContents check(const Options &options) {
  FileContents contents;
  if (options.tls.certificate.empty() != options.tls.key.empty())
    throw std::runtime_error("--tls-cert and --tls-key need each other");
  if (!options.tls.isUsed() && !(options.tls.clientCA.empty() && options.tls.peerCA.empty()))
    throw std::runtime_error(
        fmt::format("{} needs --tls-cert and --tls-key; without them, the worker has no TLS",
                    options.tls.clientCA.empty() ? "--tls-peer-ca" : "--tls-client-ca"));
  if (!isLoopback(options.listen) && (options.access.empty() || !options.tls.isUsed()))
    throw std::runtime_error(fmt::format(
        "`{}` can be reached from other machines, which needs --tls-cert, --tls-key and --access; "
        "or listen on 127.0.0.1",
        options.listen));
  if (!options.metrics.empty() && options.metrics.find(':') == std::string::npos)
    throw std::runtime_error(
        fmt::format("`{}` is not an address and a port such as 127.0.0.1:9090", options.metrics));
  if (!options.timeline.empty())
    if (const files::Failure why = files::checkWritable(options.timeline))
      throw std::runtime_error(
          fmt::format("cannot write the timeline `{}`: {}", options.timeline, *why));
  checkFiles(options.tls);
  if (!options.packageKey.empty())
    contents.packageKey = readPublicKey(options.packageKey);
  if (options.packagesOnly && options.packageKey.empty())
    throw std::runtime_error(
        hasCompiler() ? "--packages-only needs --package-key"
                      : "this worker was built without the compiler; it needs --package-key");
  contents.peerToken = readToken(options.peerToken);
  for (const std::string &peer : options.peers)
    if (!contents.peerToken.empty() && !options.tls.isUsed() && !isLoopback(peer))
      throw std::runtime_error(fmt::format(
          "the token would be sent to `{}` without TLS; use --tls-cert and --tls-key", peer));
  if (!options.access.empty())
    contents.access = std::make_unique<AccessFile>(options.access);
  return contents;
}

Metrics *countingMetrics = nullptr;

/// Puts gRPC's messages into the log.
void logFromGRPC(gpr_log_func_args *args) {
  const std::string_view message = args->message;
  if (message.starts_with("Handshake failed"))
    countingMetrics->countFailedHandshake();
  log(args->severity == GPR_LOG_SEVERITY_ERROR ? Severity::Warning : Severity::Debug, "gRPC",
      {{"text", args->message}});
}

int run(const Options &options, FileContents contents) {
  // Before gRPC starts threads: they inherit the mask, so that sigwait gets the signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Writing to a pipe without a reader, or beyond a limit on files, is an error like others.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  requireTLS13();
  openLog(severityNamed(options.logged));
  static Metrics metrics; // until the process ends, because gRPC's threads may still log
  countingMetrics = &metrics;
  gpr_set_log_function(logFromGRPC);

  if (!options.timeline.empty() && upd_timeline_start() != UPD_OK)
    throw std::runtime_error(upd_last_error());

  std::optional<store::Store> store;
  if (!options.store.empty())
    store.emplace(std::make_unique<store::FolderDisk>(options.store), randomNumber());
  server::Limits limits;
  constexpr double gibibyte = size_t(1) << 30;
  limits.tensorBytes = static_cast<size_t>(options.memory * gibibyte);
  limits.clients = options.clients;
  limits.clients.bytes = static_cast<size_t>(options.clientMemory * gibibyte);
  limits.clients.lease = std::chrono::seconds(options.lease);
  const auto makePackage = [&](const v1::Rule &rule) {
    if (package::isPackage(rule.source()) && !contents.packageKey.empty())
      return checkPackage(rule, contents.packageKey);
    if (options.packagesOnly)
      throw server::Refusal(server::Reason::FailedPrecondition,
                            "this worker takes signed packages alone; compile the rule with "
                            "`updraftc pack --sign`");
    return compileApart(rule);
  };
  server::Server server(limits, makePackage, std::chrono::steady_clock::now,
                        options.durability == "step" ? server::Durability::Step
                                                     : server::Durability::Snapshot,
                        store ? &*store : nullptr);
  if (store) {
    const server::Statistics found = server.statistics();
    log(Severity::Info, "store opened",
        {{"folder", options.store},
         {"parameters", std::to_string(found.parameters)},
         {"optimizers", std::to_string(found.optimizers)}});
  }
  server.observeSnapshots([&](std::chrono::duration<double> taken, const std::string &error) {
    metrics.countSnapshot(error.empty(), taken.count());
    if (error.empty())
      log(Severity::Info, "snapshot written", {{"seconds", fmt::format("{:.3f}", taken.count())}});
    else
      log(Severity::Error, "snapshot failed", {{"error", error}});
  });
  std::optional<SnapshotSchedule> snapshots;
  if (store)
    snapshots.emplace(server, std::chrono::seconds(options.snapshotInterval),
                      uint64_t(options.journal) << 20);
  const Everyone everyone;
  const Access &access = contents.access ? static_cast<const Access &>(*contents.access) : everyone;
  const uint64_t epoch = randomNumber();
  PeerOptions reached{
      epoch, std::chrono::seconds(5), peerCredentials(options.tls), contents.peerToken, {}};
  // Otherwise clients could have the token sent to any address.
  if (!options.access.empty() || !options.peerToken.empty())
    reached.allowed.emplace(options.peers.begin(), options.peers.end());
  PeerChannels peers(std::move(reached));
  PeerService peerService(server, peers, access);
  WorkerService service(server, peers, access, {versionText(), epoch, largestMessage});
  Metrics::Serving serving;
  if (!options.metrics.empty())
    serving = metrics.serve(options.metrics, server);
  Listener listener(options.listen, serverCredentials(options.tls), service, peerService, metrics,
                    access, largestMessage);
  // In threads of their own, because other workers and the disk may not answer.
  constexpr std::chrono::milliseconds pause(500);
  Upkeep decisions(pause, [&] { server.resolve(peers); });
  Upkeep leases(pause, [&] { server.freeEnded(); });
  Upkeep saving(pause, [&] {
    if (snapshots)
      snapshots->tick();
  });
  Upkeep revoking(pause, [&] {
    if (contents.access)
      contents.access->refresh();
  });
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
  const std::string address = options.listen.starts_with("unix:")
                                  ? options.listen
                                  : fmt::format("{}:{}", host, listener.port());
  fmt::print("listening on {}\n", address);
  std::fflush(stdout);
  log(Severity::Info, "listening",
      {{"address", address},
       {"tls", options.tls.isUsed() ? "1.3" : "none"},
       {"access", contents.access ? options.access : "everyone on this machine"}});

  int signal = 0;
  sigwait(&signals, &signal);
  log(Severity::Info, "draining", {{"seconds", std::to_string(options.patience)}});
  listener.drain(std::chrono::seconds(options.patience));
  for (Upkeep *work : {&decisions, &leases, &saving, &revoking})
    work->stop();
  bool isSafe = !snapshots || snapshots->finish();
  if (!options.timeline.empty() && upd_timeline_stop(options.timeline.c_str()) != UPD_OK) {
    log(Severity::Error, "no timeline", {{"error", upd_last_error()}});
    isSafe = false;
  }
  log(Severity::Info, "ended");
  return isSafe ? 0 : 1;
}
} // namespace

int main(int argc, char **argv) {
  keepFreedMemory();
  CLI::App app(
      "A parameter server: applies compiled optimizer rules to the parameters that it holds, "
      "for clients on gRPC.");
  app.set_version_flag("--version", versionText());
  Options options;
  options.packagesOnly = !hasCompiler();
  addOptions(app, options);
  std::string verified;
  CLI::App *verify = app.add_subcommand("verify", "Restores a store without changing it, and says "
                                                  "what it has or where it is damaged.");
  verify->add_option("store", verified, "the folder")->required()->configurable(false);
  verify->configurable(false);
  CLI::App *compile = app.add_subcommand("compile")->group(""); // for this program only
  compile->configurable(false);
  CLI11_PARSE(app, argc, argv);
  try {
    if (*compile)
      return compileHere();
    if (*verify) {
      verifyStore(verified);
      return 0;
    }
    FileContents contents = check(options);
    return options.checkOnly ? 0 : run(options, std::move(contents));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "updraft-worker: %s\n", error.what());
    return 1;
  }
}
