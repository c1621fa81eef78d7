//===- Membership.cpp - Joining and leaving a world of torch's RPC ----------------------------===//
// Does the same as torch.distributed.rpc.init_rpc with the backend of
// python/updraft/distributed/backend.py.

#include "Membership.h"
#include "AllowedCalls.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/distributed/autograd/context/container.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/rpc/rref_context.h>
#include <torch/csrc/jit/mobile/type_parser.h>

#include <tensorpipe/transport/context.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

using namespace updraft::torch_worker;
namespace rpc = torch::distributed::rpc;
using std::chrono::milliseconds;

/// The same keys as in python/updraft/distributed/backend.py: the world size of the first member,
/// and the prefix of a key for each rank that has joined.
static constexpr const char *sizeKey = "updraft_world_size";
static constexpr const char *memberKey = "updraft_member/";
/// The number of members that have left. The host keeps the store until all have, or for `linger`.
static constexpr const char *leftKey = "updraft_left";
static constexpr milliseconds linger{5000};
/// The prefix that init_rpc uses for the first world of a process.
static constexpr const char *worldPrefix = "rpc_prefix_0";

/// Whether torchrun hosts the store, so that no member does.
static bool launcherHostsStore(const WorkerOptions &options) {
  auto is = [](const char *name, std::string_view value) {
    const char *found = std::getenv(name);
    return found && value == found;
  };
  return is("TORCHELASTIC_USE_AGENT_STORE", "True") && is("MASTER_ADDR", options.storeHost) &&
         is("MASTER_PORT", std::to_string(options.storePort));
}

static c10::StrongTypePtr resolveType(const c10::QualifiedName &name) {
  return {nullptr, c10::parseType(name.qualifiedName())};
}

/// The transports for the agent; empty means all. Members open connections over the last one, so
/// this is always `uv` (sockets), which every member has.
static std::optional<std::vector<std::string>> transportsOf(const WorkerOptions &options) {
  if (options.transports.empty())
    return std::nullopt;
  std::vector<std::string> names = options.transports;
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string &name) { return name != "uv"; });
  const bool anyWorks = std::any_of(names.begin(), names.end(), [](const std::string &name) {
    return rpc::TensorPipeTransportRegistry()->Create(name)->transport->isViable();
  });
  if (!anyWorks)
    throw std::runtime_error(
        fmt::format("this machine supports none of the transports `{}`; all support `uv` (sockets)",
                    fmt::join(options.transports, "`, `")));
  return names;
}

static std::string keyOf(int rank) { return memberKey + std::to_string(rank); }

/// Refuses a rank that is already taken, and a different world size.
static void announce(c10d::Store &store, const WorkerOptions &options) {
  const std::string own = std::to_string(options.worldSize);
  const std::string size = store.compareSet(sizeKey, std::string(), own);
  if (size != own)
    throw std::runtime_error(
        fmt::format("world size mismatch: the first member has {}, `{}` has {}; "
                    "give all members the same "
                    "world size",
                    size, options.name, own));
  if (store.add(keyOf(options.rank), 1) > 1)
    throw std::runtime_error(fmt::format("rank {} is already taken; give each member its own "
                                         "rank",
                                         options.rank));
}

/// The ranks that haven't joined.
static std::vector<int> missing(c10d::Store &store, const WorkerOptions &options) {
  std::vector<int> ranks;
  for (int rank = 0; rank < options.worldSize; ++rank)
    if (!store.check({keyOf(rank)}))
      ranks.push_back(rank);
  return ranks;
}

/// Calls an operator of the adapter, because the adapter's functions are hidden.
static void callAdapter(const char *name, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
}

Membership::Membership(const WorkerOptions &options)
    : hostsStore(options.rank == 0 && !launcherHostsStore(options)), worldSize(options.worldSize) {
  callAdapter("updraft::guard_transports", {});
  const std::optional<std::vector<std::string>> transports = transportsOf(options);
  const milliseconds timeout(static_cast<int64_t>(options.timeout * 1000));
  c10d::TCPStoreOptions storeOptions;
  storeOptions.port = options.storePort;
  storeOptions.isServer = hostsStore;
  storeOptions.numWorkers = static_cast<size_t>(options.worldSize);
  storeOptions.timeout = timeout;
  storeOptions.multiTenant = true;
  // Python members report to a host in Python that they have joined. This one needn't wait for
  // that: the agent waits for them, and then the missing ranks are known.
  storeOptions.waitWorkers = !hostsStore;
  tcp = c10::make_intrusive<c10d::TCPStore>(options.storeHost, storeOptions);
  store = c10::make_intrusive<c10d::PrefixStore>(worldPrefix, tcp);

  const auto id = static_cast<rpc::worker_id_t>(options.rank);
  torch::distributed::autograd::DistAutogradContainer::init(id);
  rpc::TensorPipeRpcBackendOptions agentOptions(options.rpcThreads, transports, std::nullopt,
                                                rpc::kDefaultRpcTimeoutSeconds, "env://");
  announce(*store, options);
  try {
    agent = std::make_shared<rpc::TensorPipeAgent>(
        store, options.name, id, options.worldSize, agentOptions,
        std::unordered_map<std::string, rpc::DeviceMap>(), std::vector<c10::Device>(),
        std::make_unique<AllowedCalls>());
    rpc::RpcAgent::setCurrentRpcAgent(agent);
    agent->setTypeResolver(std::make_shared<rpc::TypeResolver>(resolveType));
    agent->start();
  } catch (const c10::DistError &) {
    if (const std::vector<int> ranks = missing(*store, options); !ranks.empty())
      throw std::runtime_error(fmt::format("expected {} members, but rank {} did not join within "
                                           "{} s",
                                           options.worldSize, fmt::join(ranks, ", "),
                                           options.timeout));
    throw;
  }
}

std::vector<std::string> Membership::transports() {
  std::vector<std::string> names = rpc::TensorPipeTransportRegistry()->Keys();
  std::sort(names.begin(), names.end());
  return names;
}

void Membership::waitForAll() {
  callAdapter("updraft::await_first_to_leave", {});
  callAdapter("updraft::leave_with_others", {c10::IValue()});
  agent->join(/*shutdown=*/true);
  rpc::RRefContext::destroyInstance(/*ignoreRRefLeak=*/true);
  stop();
  rpc::RpcAgent::setCurrentRpcAgent(nullptr);

  // Others may still be reading from the store whether all members have joined.
  tcp->setTimeout(linger);
  store->add(leftKey, 1);
  const auto end = std::chrono::steady_clock::now() + linger;
  while (hostsStore && store->add(leftKey, 0) < worldSize && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(20));
}

void Membership::stop() { agent->shutdown(); }
