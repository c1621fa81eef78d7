//===- Leaving.cpp - How the members of a world leave together --------------------------------===//

#include "runtime/torch/rpc/Leaving.h"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/rpc/script_call.h>
#include <torch/csrc/distributed/rpc/tensorpipe_agent.h>
#include <torch/csrc/distributed/rpc/utils.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace updraft::torch_adapter;
namespace rpc = torch::distributed::rpc;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Keys of the store: some member is leaving; and the prefix of the key for each member that is.
static constexpr const char *begunKey = "updraft_leaving";
static constexpr const char *memberKey = "updraft_leaving/";
/// The time between checks whether missing members are alive, and the timeout of a check. A busy
/// member may answer late: only a broken connection means that it has ended.
static constexpr milliseconds period{2000};
static constexpr milliseconds patience{10000};
/// How often this member checks whether others have arrived and its own calls have ended.
static constexpr milliseconds glance{20};
/// The timeout for `join` after all have arrived. torch waits this long for each member to meet the
/// others.
static constexpr milliseconds joining = c10d::Store::kDefaultTimeout;
/// In the form of poll(). torch's 0 means no limit, but poll() would return immediately.
static constexpr milliseconds unlimited{-1};

static std::shared_ptr<rpc::TensorPipeAgent> currentAgent() {
  return std::dynamic_pointer_cast<rpc::TensorPipeAgent>(rpc::RpcAgent::getCurrentRpcAgent());
}

namespace {
struct StoreLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

/// Calls `body`, which uses the store. Throws StoreLost on failure.
template <typename Body> static auto atStore(const Body &body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::DistError &error) {
    const std::string text = error.what_without_backtrace();
    throw StoreLost("the store of the world is lost: " + text.substr(0, text.find('\n')));
  }
}

namespace {
class Leaving {
public:
  explicit Leaving(std::optional<double> seconds)
      : agent(currentAgent()), store(agent->getStore()), seconds(seconds), begin(Clock::now()) {
    for (const rpc::WorkerInfo &member : agent->getWorkerInfos())
      if (member.id_ != agent->RpcAgent::getWorkerInfo().id_)
        others.emplace(member.id_, member);
    missing = others;
  }

  void run() {
    try {
      awaitOthers();
      // A member may have ended after it arrived. No member has finished `join`, because it waits
      // for this one too.
      if (ended.empty())
        ask(others);
    } catch (const StoreLost &) {
      // The member that hosts the store may have ended because another one did.
      ask(others);
      if (ended.empty())
        throw;
    }
    if (!ended.empty())
      throw std::runtime_error(
          fmt::format("{} ended without leaving the world; calls that still run are not waited for",
                      named(ended)));
    store->setTimeout(seconds ? std::max(left(), milliseconds(1)) : joining);
  }

private:
  using Members = std::map<rpc::worker_id_t, rpc::WorkerInfo>;

  static std::string keyOf(rpc::worker_id_t member) { return memberKey + std::to_string(member); }

  /// Names with a verb: "`a` and `b` have".
  static std::string named(const Members &members) {
    std::vector<std::string> names;
    names.reserve(members.size());
    for (const auto &[id, member] : members)
      names.push_back("`" + member.name_ + "`");
    return fmt::format("{} {}", fmt::join(names, ", "), names.size() > 1 ? "have" : "has");
  }

  /// The remaining time; one period if there is no limit.
  milliseconds left() const {
    if (!seconds)
      return period;
    const std::chrono::duration<double> passed = Clock::now() - begin;
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::duration<double>(std::max(*seconds - passed.count(), 0.0)));
  }

  /// Announces that this member leaves, and waits until each other member does or has ended.
  void awaitOthers() {
    atStore([&] { store->add(begunKey, 1); });
    awaitOwnCalls();
    atStore([&] { store->add(keyOf(agent->RpcAgent::getWorkerInfo().id_), 1); });
    while (!missing.empty()) {
      awaitMissing();
      if (missing.empty())
        break;
      if (left() == milliseconds::zero())
        throw std::runtime_error(
            fmt::format("{} not called `rpc.shutdown` within {} s", named(missing), *seconds));
      ask(missing);
    }
  }

  /// Others would wait in `join` for the remaining calls of this member.
  void awaitOwnCalls() const {
    while (agent->getMetrics().at("agent.client_active_calls") != "0" &&
           left() > milliseconds::zero())
      std::this_thread::sleep_for(std::min(glance, left()));
  }

  /// Waits until all missing members have arrived, or for one period. Then removes those that have
  /// arrived. The store's own wait isn't used because it logs a warning at each timeout.
  void awaitMissing() {
    std::vector<std::string> keys;
    keys.reserve(missing.size());
    for (const auto &[id, member] : missing)
      keys.push_back(keyOf(id));
    const Clock::time_point end = Clock::now() + std::min(left(), period);
    while (!atStore([&] { return store->check(keys); })) {
      if (Clock::now() >= end) {
        std::erase_if(missing, [&](const auto &entry) {
          return atStore([&] { return store->check({keyOf(entry.first)}); });
        });
        return;
      }
      std::this_thread::sleep_for(glance);
    }
    missing.clear();
  }

  /// Checks whether members are alive, and removes those that have ended.
  void ask(const Members &members) {
    const milliseconds wait = seconds ? std::clamp(left(), milliseconds(1), patience) : patience;
    const auto ready =
        torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("aten::_updraft_1_ready")).at(0);
    std::map<rpc::worker_id_t, c10::intrusive_ptr<rpc::JitFuture>> answers;
    Members dead;
    for (const auto &[id, member] : members) {
      try {
        answers[id] = agent->send(member, rpc::ScriptCall(ready, {}).toMessage(),
                                  std::chrono::duration<float>(wait).count());
      } catch (const std::exception &) { // the connection was already known to be broken
        dead.emplace(id, member);
      }
    }
    for (const auto &[id, answer] : answers) {
      answer->wait();
      if (answer->hasError() && rpc::getRPCErrorType(*answer) != rpc::RPCErrorType::TIMEOUT)
        dead.emplace(id, members.at(id));
    }
    for (const auto &[id, member] : dead) {
      others.erase(id);
      missing.erase(id);
      ended.emplace(id, member);
    }
  }

  std::shared_ptr<rpc::TensorPipeAgent> agent;
  c10::intrusive_ptr<c10d::Store> store;
  std::optional<double> seconds;
  Clock::time_point begin;
  Members others;  ///< members that are not known to have ended
  Members missing; ///< those of `others` that aren't leaving yet
  Members ended;
};
} // namespace

void updraft::torch_adapter::leaveWithOthers(std::optional<double> seconds) {
  Leaving(seconds).run();
}

void updraft::torch_adapter::awaitFirstToLeave() {
  const std::shared_ptr<rpc::TensorPipeAgent> agent = currentAgent();
  if (agent->getWorkerInfos().size() == 1) // there are no others to serve
    return;
  atStore([&] { agent->getStore()->wait({begunKey}, unlimited); });
}
