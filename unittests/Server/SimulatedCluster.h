//===- SimulatedCluster.h - Servers and clients on an unreliable network ------------*- C++ -*-===//
// Everything happens in one thread, in an order that a seed determines. Messages are lost, arrive
// twice or late; connections are cut; workers lose power; disks are full; time passes. Gradients
// and the order of steps are checked by servers that nothing happens to.

#ifndef UPDRAFT_UNITTESTS_SERVER_SIMULATEDCLUSTER_H
#define UPDRAFT_UNITTESTS_SERVER_SIMULATEDCLUSTER_H

#include "SimulatedDisk.h"
#include "runtime/server/Server.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace updraft::server {

/// How likely each disturbance is.
struct Disturbances {
  double lost = 0.1;    ///< a message or its answer
  double doubled = 0.1; ///< a message arrives twice
  double late = 0.1;    ///< a message arrives again later
  double powerLoss = 0; ///< of a worker, at an event
  double fullDisk = 0;
  double timePasses = 0.02;
  double snapshot = 0.01;
  double partition = 0.0005; ///< connections are cut for many events
};

class SimulatedCluster {
public:
  SimulatedCluster(uint64_t seed, const Disturbances &disturbances);
  ~SimulatedCluster();

  /// Lets clients take this many steps, and then lets everything come to an end. Returns the first
  /// violation of an invariant (docs/parameter-server.md, "Simulation"); empty if there is none.
  std::string run(size_t steps);

  /// Starts a worker this often from a copy of its disk of which one bit has changed. The worker
  /// must refuse the store, or have all its steps but the last, which may look like one that was
  /// never finished. Returns the first violation.
  std::string rot(size_t times);

  /// The names, sizes and contents of the files on all disks. Without the contents of journals,
  /// which have random numbers: those of attempts, and SQLite's own.
  std::string files() const;
  /// All workers' parameters and states.
  std::string values();

  size_t events = 0;
  /// Counted over all workers.
  size_t applied = 0, restarts = 0, aborted = 0, refused = 0;
  size_t partitions = 0, unreachable = 0; ///< how often connections were cut, and calls over these

private:
  static constexpr size_t workerCount = 3, clientCount = 4;

  struct Worker {
    store::SimulatedStorage storage;
    std::unique_ptr<store::Store> store;
    std::unique_ptr<Server> server;    ///< null without power
    std::unique_ptr<Server> reference; ///< has taken the same steps, in the same order
    std::set<RequestKey> known;        ///< requests that the reference has applied
    int calls = 0;                     ///< under way
    bool isDying = false;              ///< loses power when they have ended
    uint64_t checked = 0;              ///< the parameter's version when it was compared last
    std::string content, before;       ///< then, and before its last change
  };

  /// A step that a client wants.
  struct Step {
    RequestKey request;
    uint64_t context = 0;
    std::vector<size_t> workers; ///< one, or several that step together
    std::vector<float> gradient;
    bool isAnswered = false;
    size_t missing = 0; ///< workers that have not applied it
  };
  struct Client {
    std::string name;
    int names = 0;
    uint64_t sequence = 0;
    std::optional<Step> step;
    std::set<size_t> registered; ///< workers that know the name
    std::set<size_t> pushed;     ///< workers that have the gradients
  };

  class Network;

  bool chance(double probability) { return std::bernoulli_distribution(probability)(random); }
  size_t pick(size_t below) { return random() % below; }
  /// Workers are the first nodes, and clients follow.
  size_t nodeOf(const Client &client) const {
    return workerCount + static_cast<size_t>(&client - clients.data());
  }

  void start(size_t worker);
  std::unique_ptr<Server> serverOf(store::Store &store);
  void losePower(size_t worker);
  /// Calls `handle` on a worker, like a remote call: not at all, once or twice. Throws Unavailable
  /// if no answer comes. `from` is the caller's node.
  int64_t call(size_t from, size_t worker, const std::function<int64_t(Server &)> &handle);
  std::optional<int64_t> carryOut(size_t worker, const std::function<int64_t(Server &)> &handle);

  void event();
  void disturb();
  void disturbConnections();
  void advance(Client &client);
  void begin(Client &client);
  void deliverLate();
  void heal();

  void check(size_t worker);
  void checkAll();
  void checkEnd();
  void violate(const std::string &text);

  std::mt19937_64 random;
  Disturbances disturbances;
  std::chrono::steady_clock::time_point now{};
  std::vector<Worker> workers{workerCount};
  std::vector<Client> clients{clientCount};
  std::vector<std::unique_ptr<Network>> networks; ///< of each worker
  std::set<std::pair<size_t, size_t>> cut;        ///< connections of a node to a worker
  size_t cutUntil = 0;                            ///< an event
  struct LateMessage {
    size_t worker;
    std::function<int64_t(Server &)> handle;
    std::chrono::steady_clock::time_point sent;
  };
  std::deque<LateMessage> late;
  std::map<RequestKey, Step> steps; ///< all that were ever begun
  std::set<RequestKey> unfinished;  ///< that some worker has not applied
  size_t answered = 0;
  std::string violation;
};

} // namespace updraft::server

#endif // UPDRAFT_UNITTESTS_SERVER_SIMULATEDCLUSTER_H
