//===- updraft-worker.cpp - A parameter server ------------------------------------------------===//

#include "AccessFile.h"
#include "CompileProcess.h"
#include "Credentials.h"
#include "InputFile.h"
#include "Listening.h"
#include "Log.h"
#include "Metrics.h"
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
constexpr const char *footer = R"(
Durability. Without --store, parameters and optimizers are lost when the worker ends. With it, a worker
that is started again continues where the last one ended:
  --durability=step       with every change that was answered (default)
  --durability=snapshot   with the last snapshot
The worker writes a snapshot every --snapshot-interval seconds if anything has changed, when the journal
is longer than --journal MiB, and at the end. Snapshots need room in --memory for a copy of the
parameters, so set it to more than twice their size.

Security. Without --access the worker listens on this machine alone, because everyone who reaches it can
do everything. With --access, clients need a token or a certificate. To listen elsewhere, the worker also
needs --tls-cert and --tls-key. TLS is always 1.3. A line of the access file is empty, begins with #, or
is one of
  token SHA256 ROLE [optimizer=NAME]... [client=NAME]... [until=2027-01-31T00:00:00Z]
  certificate COMMON-NAME ROLE [optimizer=NAME]... [client=NAME]... [until=TIME]
SHA256 is the digest of the token: `printf %s "$TOKEN" | sha256sum`. COMMON-NAME has no spaces. Roles:
  reader    reads parameters, states and statistics
  trainer   also pushes gradients, steps, and sets hyperparameters
  admin     also writes parameters and states, creates and deletes optimizers, and takes snapshots
  peer      is another worker, and takes part in steps of several workers
With optimizer=NAME, the role is for that optimizer alone. With client=NAME, requests need that client's
name, or one that begins with NAME/. The worker reads the access file and certificates again when they
change.

Steps that all of several workers take, or none, need --store and --durability=step. With --access they
also need --peers, and --peer-token or certificates with the role peer; with TLS, --tls-peer-ca or
--tls-client-ca.

Configuration. --config=FILE has options without dashes, one on a line: `memory = 16`. Options of the
command line take precedence. --check-config checks both, and ends.

The log goes to the standard error, as `time=... level=... msg=...`. --metrics serves Prometheus at
/metrics, without TLS or credentials.

SIGTERM and SIGINT end the worker once the requests under way are answered, after --drain seconds at the
latest.

Examples:
  updraft-worker
  updraft-worker --listen=127.0.0.1:0          any free port, which the first line tells
  updraft-worker --store=/var/lib/updraft-worker --metrics=127.0.0.1:9090
  updraft-worker --listen=0.0.0.0:7070 --tls-cert=worker.pem --tls-key=worker.key --access=access.txt
  updraft-worker --config=/etc/updraft-worker.toml --check-config
  updraft-worker verify /var/lib/updraft-worker

Exit codes: 0 ended by a signal or nothing found, 1 it could not start, the last snapshot or the timeline
failed or the store is damaged, 100 and above an error in the options.)";

struct Options {
  std::string listen = "127.0.0.1:7070";
  double memory = 4;
  int patience = 30;
  server::ClientLimits clients;
  double clientMemory = 1;
  int lease = 60;
  std::string store;
  std::string durability = "step";
  int snapshotInterval = 300;
  int journal = 1024;
  TLSFiles tls;
  std::string access, peerToken, packageKey;
  bool packagesOnly = !hasCompiler();
  std::vector<std::string> peers;
  std::string metrics;
  std::string timeline;
  std::string logged = "info";
  bool checkOnly = false;
};

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
  app.footer(footer);
  app.set_version_flag("--version", versionText());
  Options options;
  app.add_option("--listen", options.listen, "address and port of the service")
      ->capture_default_str();
  app.add_option("--memory", options.memory,
                 "limit on parameters, gradients and copies of them, in GiB")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--client-memory", options.clientMemory,
                 "limit on the gradients of one client, in GiB")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--client-requests", options.clients.requests,
                 "limit on the requests of one client at the same time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--lease", options.lease,
                 "seconds without a request after which a client counts as dead")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--drain", options.patience,
                 "seconds that requests under way may take after SIGTERM")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option *store =
      app.add_option("--store", options.store, "folder of the store; made if it doesn't exist");
  app.add_option("--durability", options.durability,
                 "when a change is safe: once it is answered, or with the next snapshot")
      ->needs(store)
      ->check(CLI::IsMember({"step", "snapshot"}))
      ->capture_default_str();
  app.add_option("--snapshot-interval", options.snapshotInterval, "seconds between snapshots")
      ->needs(store)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--journal", options.journal,
                 "length of the journal, in MiB, at which a snapshot is written")
      ->needs(store)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tls-cert", options.tls.certificate, "PEM file of the worker's certificates");
  app.add_option("--tls-key", options.tls.key, "PEM file of its private key");
  app.add_option(
      "--tls-client-ca", options.tls.clientCA,
      "PEM file of the authority of clients' certificates; with it, all clients need one");
  app.add_option("--tls-peer-ca", options.tls.peerCA,
                 "PEM file of the authority of other workers' certificates [--tls-client-ca]");
  app.add_option("--access", options.access, "file of clients and their roles");
  app.add_option("--peers", options.peers,
                 "addresses of the workers that may step together with this one, and its own; with "
                 "--access or --peer-token, no others may")
      ->delimiter(',');
  app.add_option("--peer-token", options.peerToken,
                 "file of the token that this worker sends to other workers");
  app.add_option(
      "--package-key", options.packageKey,
      "PEM file of a public Ed25519 key; packages that it has signed are taken as rules");
  app.add_flag("--packages-only", options.packagesOnly, "refuse the text of rules");
  app.add_option("--metrics", options.metrics, "address and port that serve metrics over HTTP");
  app.add_option("--timeline", options.timeline,
                 "file for a timeline of requests, steps and waits, written when the worker ends");
  app.add_option("--log", options.logged, "lowest severity to log")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.set_config("--config", "", "file with options");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_flag("--check-config", options.checkOnly, "check the options and files, and end")
      ->configurable(false);
  std::string verified;
  CLI::App *verify = app.add_subcommand("verify", "Restores a store without changing it, and says "
                                                  "what it has or where it is damaged.");
  verify->add_option("store", verified, "the folder")->required();
  verify->configurable(false);
  CLI::App *compile = app.add_subcommand("compile")->group(""); // for this program only
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
