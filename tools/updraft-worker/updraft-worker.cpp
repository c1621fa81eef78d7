//===- updraft-worker.cpp - A parameter server ------------------------------------------------===//

#include "Listening.h"
#include "RuleSource.h"
#include "SnapshotSchedule.h"
#include "Upkeep.h"
#include "runtime/server/Server.h"
#include "runtime/store/FolderDisk.h"
#include "updraft/Driver/Version.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

using namespace updraft;
using namespace updraft::worker;

namespace {
constexpr const char *footer = R"(
Parameters and optimizers are in memory. Without --store they end with the worker. With it, a worker
that is started again continues where the last one ended:
  --durability=step       with every change that was answered (default)
  --durability=snapshot   with the last snapshot
A snapshot is written every --snapshot-interval seconds if anything has changed, when the journal has
--journal MiB, and at the end.

Without credentials the worker listens on this machine alone: whoever reaches it can read and write all
parameters, and have rules compiled.

SIGTERM and SIGINT end it once the requests under way are answered.

Examples:
  updraft-worker
  updraft-worker --listen=127.0.0.1:0          any free port, which the first line tells
  updraft-worker --listen=unix:/run/updraft.sock --memory=16
  updraft-worker --store=/var/lib/updraft-worker

Exit codes: 0 ended by a signal, 1 it could not start, 100 and above an error in the command line.)";

struct Options {
  std::string listen = "127.0.0.1:7070";
  double memory = 4;
  int patience = 30;
  server::ClientLimits clients;
  double clientMemory = 1;
  int lease = 60;
  std::string store;
  server::Durability durability = server::Durability::Step;
  int snapshotInterval = 300;
  int journal = 1024;
};

constexpr size_t largestMessage = size_t(4) << 20;

uint64_t randomNumber() {
  std::random_device random;
  return uint64_t(random()) << 32 | random();
}

int run(const Options &options) {
  // Before gRPC starts threads: they inherit the mask, so that sigwait gets the signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  std::optional<store::Store> store;
  if (!options.store.empty())
    store.emplace(std::make_unique<store::FolderDisk>(options.store), randomNumber());
  server::Limits limits;
  constexpr double gibibyte = size_t(1) << 30;
  limits.tensorBytes = static_cast<size_t>(options.memory * gibibyte);
  limits.clients = options.clients;
  limits.clients.bytes = static_cast<size_t>(options.clientMemory * gibibyte);
  limits.clients.lease = std::chrono::seconds(options.lease);
  server::Server server(limits, packSource, std::chrono::steady_clock::now, options.durability,
                        store ? &*store : nullptr);
  std::optional<SnapshotSchedule> snapshots;
  if (store)
    snapshots.emplace(server, std::chrono::seconds(options.snapshotInterval),
                      uint64_t(options.journal) << 20);
  PeerChannels peers(std::chrono::seconds(10));
  PeerService peerService(server);
  WorkerService service(server, peers, {versionString().str(), randomNumber(), largestMessage});
  Listener listener(options.listen, service, peerService, largestMessage);
  Upkeep upkeep(std::chrono::milliseconds(500), [&] {
    server.freeEnded();
    server.resolve(peers);
    if (snapshots)
      snapshots->tick();
  });
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
  if (store)
    fmt::print("the store `{}` has {} parameters and {} optimizers\n", options.store,
               server.statistics().parameters, server.statistics().optimizers);
  if (options.listen.starts_with("unix:"))
    fmt::print("listening on {}\n", options.listen);
  else
    fmt::print("listening on {}:{}\n", host, listener.port());
  std::fflush(stdout);

  int signal = 0;
  sigwait(&signals, &signal);
  fmt::print("draining: no new requests, at most {} s for those under way\n", options.patience);
  std::fflush(stdout);
  listener.drain(std::chrono::seconds(options.patience));
  upkeep.stop();
  return snapshots && !snapshots->finish() ? 1 : 0;
}
} // namespace

int main(int argc, char **argv) {
  CLI::App app(
      "A parameter server: applies compiled optimizer rules to the parameters that it holds, "
      "for clients on gRPC.");
  app.footer(footer);
  app.set_version_flag("--version", versionString().str());
  Options options;
  app.add_option("--listen", options.listen, "address and port")->capture_default_str();
  app.add_option("--memory", options.memory, "limit on parameters and gradients, in GiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--client-memory", options.clientMemory,
                 "limit on the gradients of one client, in GiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--client-requests", options.clients.requests,
                 "limit on the requests of one client at the same time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--lease", options.lease, "seconds that a client lives without a request")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--drain", options.patience, "seconds for requests under way at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option *store = app.add_option("--store", options.store,
                                      "folder that keeps everything; made if it doesn't exist");
  const std::map<std::string, server::Durability> durabilities = {
      {"snapshot", server::Durability::Snapshot}, {"step", server::Durability::Step}};
  app.add_option("--durability", options.durability, "how much of the store is up to date")
      ->needs(store)
      ->option_text("step|snapshot [step]")
      ->transform(CLI::CheckedTransformer(durabilities));
  app.add_option("--snapshot-interval", options.snapshotInterval, "seconds between snapshots")
      ->needs(store)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--journal", options.journal,
                 "length of the journal in MiB that makes it a snapshot")
      ->needs(store)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (!isLoopback(options.listen)) {
    std::fprintf(stderr,
                 "updraft-worker: `%s` can be reached from other machines, and the worker asks "
                 "nobody who they are; listen on 127.0.0.1\n",
                 options.listen.c_str());
    return 1;
  }
  try {
    return run(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "updraft-worker: %s\n", error.what());
    return 1;
  }
}
