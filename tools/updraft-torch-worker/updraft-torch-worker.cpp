//===- updraft-torch-worker.cpp - A worker of torch's RPC without Python ----------------------===//

#include "Membership.h"
#include "runtime/files/FileContent.h"
#include "tools/options/StandardStreams.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <thread>

using namespace updraft::torch_worker;

namespace {
constexpr const char *footer = R"(
Clients join with `torch.distributed.rpc.init_rpc(NAME, backend=rpc.BackendType.UPDRAFT, ...)` after
`import updraft.distributed`. They keep parameters here, call functions on them, and step them. There is
no authentication: use the worker only in networks that only your own programs can reach.

Examples:
  updraft-torch-worker --name ps --rank 1 --world-size 2 --store trainer0:29500
  RANK=1 WORLD_SIZE=2 MASTER_ADDR=trainer0 MASTER_PORT=29500 updraft-torch-worker --load ./mine.so

Exit codes: 0 all members left together, 1 the worker could not join the world or lost it, 2 a library
does not load or stdout could not be written, 128 + N stopped by the signal N, otherwise from 100 an
error in the command line.)";

constexpr int lost = 1;
constexpr int unusable = 2;

/// The message of an error, without the backtrace that torch adds.
std::string textOf(const std::exception &error) {
  if (const auto *ours = dynamic_cast<const c10::Error *>(&error))
    return ours->what_without_backtrace();
  return error.what();
}

void addOptions(CLI::App &app, WorkerOptions &options, std::string &store) {
  app.add_option("--name", options.name, "Name of this worker (default: workerRANK)");
  app.add_option("--rank", options.rank, "Rank of this worker in the world")
      ->envname("RANK")
      ->required()
      ->check(CLI::Range(0, 32767));
  app.add_option("--world-size", options.worldSize, "Number of processes in the world")
      ->envname("WORLD_SIZE")
      ->required()
      ->check(CLI::Range(1, 32768));
  app.add_option("--store", store,
                 "Host and port of the store, which rank 0 serves\n"
                 "(default: $MASTER_ADDR:$MASTER_PORT)")
      ->type_name("HOST:PORT");
  app.add_option("--rpc-threads", options.rpcThreads,
                 "Threads that answer requests: at least 2 more than concurrent steps")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  const std::vector<std::string> transports = Membership::transports();
  app.add_option(
         "--transports", options.transports,
         "Transports for requests, separated by commas (default: all). With `uv` (sockets)\n"
         "alone, an idle worker sleeps. Shared memory (`shm`) answers members on the same\n"
         "machine faster, but needs a polling thread.\n"
         "Without `uv`, members that lack the last transport cannot reach the worker")
      ->delimiter(',')
      ->check(CLI::IsMember(transports));
  app.add_option("--compute-threads", options.computeThreads,
                 "Threads of one operation (default: torch's choice)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--timeout", options.timeout, "Seconds to wait for other members to join")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--library", options.library,
                 "libupdraft.so (default: the one in ../lib beside this program)")
      ->envname("UPDRAFT_LIBRARY");
  app.add_option("--require-signature", options.publicKey,
                 "Also accept packages whose signature the public Ed25519 key in this PEM file\n"
                 "verifies (default: only rules as text)")
      ->type_name("PUBLIC.pem");
  app.add_option("--load", options.loads,
                 "A shared library with operators in the namespace `updraft_functions`\n"
                 "that clients may call; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

/// Throws CLI::ValidationError on malformed text.
void parseStore(const std::string &text, WorkerOptions &options) {
  const size_t colon = text.rfind(':');
  int port = 0;
  if (colon == 0 || colon == std::string::npos ||
      !CLI::detail::lexical_cast(text.substr(colon + 1), port) || port < 1 || port > 65535)
    throw CLI::ValidationError("--store", "`" + text + "` is not of the form HOST:PORT");
  options.storeHost = text.substr(0, colon);
  options.storePort = static_cast<uint16_t>(port);
}

void complete(WorkerOptions &options, std::string store) {
  const char *host = std::getenv("MASTER_ADDR");
  const char *port = std::getenv("MASTER_PORT");
  if (store.empty())
    store = fmt::format("{}:{}", host ? host : "localhost", port ? port : "29500");
  parseStore(store, options);
  if (options.rank >= options.worldSize)
    throw CLI::ValidationError("--rank", fmt::format("{} is out of range for a world of {}",
                                                     options.rank, options.worldSize));
  if (options.name.empty())
    options.name = fmt::format("worker{}", options.rank);
  if (options.library.empty()) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    options.library = program.parent_path().parent_path() / "lib" / "libupdraft.so";
  }
}

/// Calls an operator of the adapter, because the adapter's functions are hidden.
void callAdapter(const char *name, const std::string &argument) {
  c10::Stack stack{argument};
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
}

std::string readKey(const std::string &path) {
  std::string key;
  if (path.empty())
    return key;
  if (const int error = updraft::files::readFile(path, size_t{1} << 20, key))
    throw std::runtime_error(
        fmt::format("cannot read the key `{}`: {}", path, std::strerror(error)));
  if (key.find("-----BEGIN PUBLIC KEY-----") == std::string::npos)
    throw std::runtime_error(fmt::format("`{}` has no public key in PEM format", path));
  return key;
}

void loadLibraries(const WorkerOptions &options) {
  callAdapter("updraft::load_library", options.library);
  callAdapter("updraft::limit_packages", readKey(options.publicKey));
  for (const std::string &file : options.loads)
    if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      throw std::runtime_error(fmt::format("`{}` does not load: {}", file, dlerror()));
}

/// Handles SIGTERM and SIGINT in one thread, which exits after the running requests end. Call this
/// before other threads start.
void stopAtSignals(const std::atomic<Membership *> &membership) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, &membership] {
    int number = 0;
    sigwait(&signals, &number);
    if (Membership *joined = membership)
      joined->stop();
    fmt::print("stopped by signal {}\n", number);
    std::fflush(stdout);
    std::_Exit(128 + number);
  }).detach();
}
} // namespace

int main(int argc, char **argv) {
  updraft::watchStandardOutput();
  CLI::App app("A worker of torch's RPC without Python. It keeps parameters, runs functions on "
               "them, and steps them with compiled rules.");
  app.footer(footer);
  app.set_version_flag("--version", "updraft-torch-worker for torch " TORCH_VERSION);
  WorkerOptions options;
  std::string store;
  addOptions(app, options, store);
  try {
    app.parse(argc, argv);
    complete(options, store);
  } catch (const CLI::ParseError &error) {
    return app.exit(error);
  }

  try {
    loadLibraries(options);
  } catch (const std::exception &error) {
    updraft::printMessage(fmt::format("error: {}\n", textOf(error)));
    return unusable;
  }
  if (options.computeThreads)
    at::set_num_threads(options.computeThreads);

  // As in Python: writing to a member that is gone raises an error there, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  static std::atomic<Membership *> membership = nullptr;
  stopAtSignals(membership);
  try {
    membership = new Membership(options); // used by the signal handler until the process ends
    fmt::print("`{}` serves, {} of {} at {}:{}\n", options.name, options.rank, options.worldSize,
               options.storeHost, options.storePort);
    std::fflush(stdout);
    membership.load()->waitForAll();
  } catch (const std::exception &error) {
    updraft::printMessage(fmt::format(
        "error: {} {}:{}: {}\n", membership ? "lost the world at" : "could not join the world at",
        options.storeHost, options.storePort, textOf(error)));
    std::fflush(stderr);
    // Threads of the agent are still running.
    std::_Exit(lost);
  }
  return 0;
}
