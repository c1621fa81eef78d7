//===- updraft-worker.cpp - A parameter server ------------------------------------------------===//

#include "Listening.h"
#include "RuleSource.h"
#include "runtime/server/Server.h"
#include "updraft-c/compiler.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <random>
#include <string>

using namespace updraft;
using namespace updraft::worker;

namespace {
constexpr const char *footer = R"(
Parameters and optimizers are in memory, and end with the worker.

Without credentials the worker listens on this machine alone: whoever reaches it can read and write all
parameters, and have rules compiled.

SIGTERM and SIGINT end it once the requests under way are answered.

Examples:
  updraft-worker
  updraft-worker --listen=127.0.0.1:0          any free port, which the first line tells
  updraft-worker --listen=unix:/run/updraft.sock --memory=16

Exit codes: 0 ended by a signal, 1 it could not start, 100 and above an error in the command line.)";

struct Options {
  std::string listen = "127.0.0.1:7070";
  double memory = 4;
  int patience = 30;
};

constexpr size_t largestMessage = size_t(4) << 20;

uint64_t newEpoch() {
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

  server::Limits limits;
  limits.tensorBytes = static_cast<size_t>(options.memory * double(size_t(1) << 30));
  server::Server server(limits, compileSource, [] { return std::chrono::steady_clock::now(); });
  WorkerService service(server, {upd_version(), newEpoch(), largestMessage});
  Listener listener(options.listen, service, largestMessage);
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
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
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  CLI::App app(
      "A parameter server: applies compiled optimizer rules to the parameters that it holds, "
      "for clients on gRPC.");
  app.footer(footer);
  app.set_version_flag("--version", upd_version());
  Options options;
  app.add_option("--listen", options.listen, "address and port")->capture_default_str();
  app.add_option("--memory", options.memory, "limit on parameters and gradients, in GiB")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--drain", options.patience, "seconds for requests under way at the end")
      ->check(CLI::NonNegativeNumber)
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
