//===- Options.cpp - A worker's options -------------------------------------------------------===//

#include "Options.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <limits>
#include <string>

using namespace updraft;

static constexpr const char *footer = R"(
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

static constexpr double largest = std::numeric_limits<int>::max();

/// Takes numbers in a range. CLI::Range takes NaN besides.
static CLI::Validator between(double least, double most) {
  const auto check = [=](const std::string &text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
      return {};
    return fmt::format("`{}` is not a number from {} to {}", text, least, most);
  };
  return {check, fmt::format("{} to {}", least, most)};
}

/// Takes a text that isn't empty. An option without a value takes the next word of the command
/// line, so that is not another option, either. Otherwise the worker would run without a store or
/// without access control.
static CLI::Validator given() {
  const auto check = [](const std::string &text) -> std::string {
    if (text.empty())
      return "the value is empty; give one, or leave the option out";
    if (text.starts_with("--"))
      return fmt::format("`{}` is another option, not a value; give a value, or leave the option "
                         "out",
                         text);
    return {};
  };
  return {check, ""};
}

void worker::addOptions(CLI::App &app, Options &options) {
  app.footer(footer);
  app.add_option("--listen", options.listen, "address and port of the service")
      ->check(given())
      ->capture_default_str();
  app.add_option("--memory", options.memory,
                 "limit on parameters, gradients and copies of them, in GiB")
      ->check(between(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--client-memory", options.clientMemory,
                 "limit on the gradients of one client, in GiB")
      ->check(between(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--client-requests", options.clients.requests,
                 "limit on the requests of one client at the same time")
      ->check(between(1, largest))
      ->capture_default_str();
  app.add_option("--lease", options.lease,
                 "seconds without a request after which a client counts as dead")
      ->check(between(1, largest))
      ->capture_default_str();
  app.add_option("--drain", options.patience,
                 "seconds that requests under way may take after SIGTERM")
      ->check(between(0, largest))
      ->capture_default_str();
  CLI::Option *store =
      app.add_option("--store", options.store, "folder of the store; made if it doesn't exist")
          ->check(given());
  app.add_option("--durability", options.durability,
                 "when a change is safe: once it is answered, or with the next snapshot")
      ->needs(store)
      ->check(CLI::IsMember({"step", "snapshot"}))
      ->capture_default_str();
  app.add_option("--snapshot-interval", options.snapshotInterval, "seconds between snapshots")
      ->needs(store)
      ->check(between(1, largest))
      ->capture_default_str();
  app.add_option("--journal", options.journal,
                 "length of the journal, in MiB, at which a snapshot is written")
      ->needs(store)
      ->check(between(1, largest))
      ->capture_default_str();
  app.add_option("--tls-cert", options.tls.certificate, "PEM file of the worker's certificates")
      ->check(given());
  app.add_option("--tls-key", options.tls.key, "PEM file of its private key")->check(given());
  app.add_option(
         "--tls-client-ca", options.tls.clientCA,
         "PEM file of the authority of clients' certificates; with it, all clients need one")
      ->check(given());
  app.add_option("--tls-peer-ca", options.tls.peerCA,
                 "PEM file of the authority of other workers' certificates [--tls-client-ca]")
      ->check(given());
  app.add_option("--access", options.access, "file of clients and their roles")->check(given());
  app.add_option("--peers", options.peers,
                 "addresses of the workers that may step together with this one, and its own; with "
                 "--access or --peer-token, no others may")
      ->delimiter(',')
      ->check(given());
  app.add_option("--peer-token", options.peerToken,
                 "file of the token that this worker sends to other workers")
      ->check(given());
  app.add_option("--package-key", options.packageKey,
                 "PEM file of a public Ed25519 key; packages that it has signed are taken as rules")
      ->check(given());
  app.add_flag("--packages-only", options.packagesOnly, "refuse the text of rules");
  app.add_option("--metrics", options.metrics, "address and port that serve metrics over HTTP")
      ->check(given());
  app.add_option("--timeline", options.timeline,
                 "file for a timeline of requests, steps and waits, written when the worker ends")
      ->check(given());
  app.add_option("--log", options.logged, "lowest severity to log")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.set_config("--config", "", "file with options")->check(given());
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_flag("--check-config", options.checkOnly, "check the options and files, and end")
      ->configurable(false);
}
