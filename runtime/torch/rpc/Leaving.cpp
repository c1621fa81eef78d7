//===- Leaving.cpp - How the members of a world leave it together -----------------------------===//

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

/// At the store: that some member leaves; and, before its number, that one does.
static constexpr const char *begunKey = "updraft_leaving";
static constexpr const char *memberKey = "updraft_leaving/";
/// How often those that have not come are asked whether they live, and how long for an answer. A
/// busy one may answer late: only a broken connection tells that it has ended.
static constexpr milliseconds period{2000};
static constexpr milliseconds patience{10000};
/// How often this member looks whether others have come and its own calls have ended.
static constexpr milliseconds glance{20};
/// For `join`, when all have come. torch waits as long as this for each member to meet the others.
static constexpr milliseconds joining = c10d::Store::kDefaultTimeout;
/// As poll() takes it: 0, which torch has for no limit, is over at once.
static constexpr milliseconds unlimited{-1};

static std::shared_ptr<rpc::TensorPipeAgent> currentAgent() {
  return std::dynamic_pointer_cast<rpc::TensorPipeAgent>(rpc::RpcAgent::getCurrentRpcAgent());
}

namespace {
struct StoreLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};
} // namespace

/// Calls `body`, which uses the store. Throws StoreLost.
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
      // A member may have ended after it came. None is through: `join` waits for this one, too.
      if (ended.empty())
        ask(others);
    } catch (const StoreLost &) {
      // The member that has the store may have ended because another one did.
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

  /// The names, and the verb: "`a` and `b` have".
  static std::string named(const Members &members) {
    std::vector<std::string> names;
    names.reserve(members.size());
    for (const auto &[id, member] : members)
      names.push_back("`" + member.name_ + "`");
    return fmt::format("{} {}", fmt::join(names, ", "), names.size() > 1 ? "have" : "has");
  }

  /// How much of the time is left; a period, if there is no limit.
  milliseconds left() const {
    if (!seconds)
      return period;
    const std::chrono::duration<double> passed = Clock::now() - begin;
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::duration<double>(std::max(*seconds - passed.count(), 0.0)));
  }

  /// Says that this member leaves, and waits until every other one does or has ended.
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

  /// The others would wait in `join` for what this member still asks for.
  void awaitOwnCalls() const {
    while (agent->getMetrics().at("agent.client_active_calls") != "0" &&
           left() > milliseconds::zero())
      std::this_thread::sleep_for(std::min(glance, left()));
  }

  /// Waits until all missing members have come, or a period has passed. Then forgets those that
  /// have come. The store's own wait logs a warning each time that it ends in vain.
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

  /// Asks members whether they live, and takes out those that have ended.
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
      } catch (const std::exception &) { // known to have broken before
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
  Members others;  ///< who are not known to have ended
  Members missing; ///< of these, who do not leave yet
  Members ended;
};
} // namespace

void updraft::torch_adapter::leaveWithOthers(std::optional<double> seconds) {
  Leaving(seconds).run();
}

void updraft::torch_adapter::awaitFirstToLeave() {
  const std::shared_ptr<rpc::TensorPipeAgent> agent = currentAgent();
  if (agent->getWorkerInfos().size() == 1) // nobody whom it could serve
    return;
  atStore([&] { agent->getStore()->wait({begunKey}, unlimited); });
}
