//===- GuardedTransport.cpp - Sockets that survive strangers ----------------------------------===//

#include "runtime/torch/rpc/GuardedTransport.h"

#include "runtime/dist/HelloWatch.h"
#include "runtime/torch/rpc/TensorPipeListener.h"

#include <tensorpipe/channel/mpt/factory.h>
#include <tensorpipe/transport/uv/factory.h>
#include <torch/csrc/distributed/rpc/tensorpipe_agent.h>

#include <charconv>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace updraft::torch_adapter;
namespace dist = updraft::dist;
namespace rpc = torch::distributed::rpc;
namespace transport = tensorpipe::transport;
using ConnectionPointer = std::shared_ptr<transport::Connection>;

/// The number of connections that TensorPipe may accept at once, each with one callback.
static constexpr int armed = 256;
/// The same number as for torch's channel `mpt_uv`.
static constexpr size_t lanes = 16;

/// The port of a socket address.
static in_port_t portOf(const sockaddr_storage &address) {
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in &>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6 &>(address).sin6_port);
  return 0;
}

/// The descriptors of connections that this process has accepted at a port, by the peer's address.
static std::map<std::string, int> acceptedAt(in_port_t port) {
  std::map<std::string, int> sockets;
  DIR *folder = opendir("/proc/self/fd");
  if (!folder)
    return sockets;
  while (const dirent *entry = readdir(folder)) {
    int socket = -1;
    const std::string_view name = entry->d_name;
    if (std::from_chars(name.data(), name.data() + name.size(), socket).ec != std::errc())
      continue;
    sockaddr_storage here{}, there{};
    socklen_t hereSize = sizeof(here), thereSize = sizeof(there);
    if (getsockname(socket, reinterpret_cast<sockaddr *>(&here), &hereSize) || portOf(here) != port)
      continue;
    // A listening or closed socket has no peer.
    if (getpeername(socket, reinterpret_cast<sockaddr *>(&there), &thereSize))
      continue;
    sockets.emplace(std::string(reinterpret_cast<const char *>(&there), thereSize), socket);
  }
  closedir(folder);
  return sockets;
}

namespace {
/// Accepts the connections of a listener after they have said hello.
class GuardedListener : public transport::Listener,
                        public std::enable_shared_from_this<GuardedListener> {
public:
  GuardedListener(std::shared_ptr<transport::Listener> inner, dist::HelloTo to)
      : inner(std::move(inner)), to(to) {
    const std::string address = this->inner->addr();
    const size_t colon = address.rfind(':');
    if (colon != std::string::npos)
      std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  }

  void start() {
    for (int i = 0; i < armed; ++i)
      arm();
  }

  void accept(accept_callback_fn fn) override {
    std::unique_lock guard(mutex);
    if (failure) {
      guard.unlock();
      fn(failure, nullptr);
    } else if (!greeted.empty()) {
      const ConnectionPointer connection = std::move(greeted.front());
      greeted.pop_front();
      guard.unlock();
      fn(tensorpipe::Error(), connection);
    } else {
      wanted.push_back(std::move(fn));
    }
  }

  std::string addr() const override { return inner->addr(); }
  void setId(std::string id) override { inner->setId(std::move(id)); }
  void close() override { inner->close(); }

private:
  void arm() {
    inner->accept(
        [self = shared_from_this()](const tensorpipe::Error &error, ConnectionPointer connection) {
          if (error) {
            self->fail(error);
          } else {
            self->arm();
            self->watch(std::move(connection));
          }
        });
  }

  /// Called by the accepting thread for each connection, before it accepts the next one.
  void watch(ConnectionPointer connection) {
    std::map<std::string, int> open = acceptedAt(port);
    std::optional<int> found;
    size_t unknown = 0;
    for (const auto &[from, socket] : open)
      if (!known.contains(from)) {
        found = socket;
        ++unknown;
      }
    known = std::move(open);
    // A connection that isn't found is already closed. If several are unknown, it isn't clear which
    // one this is.
    if (unknown != 1)
      return;
    const int own = fcntl(*found, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
      return;
    dist::HelloWatch::process().add(own, to,
                                    [self = weak_from_this(), connection = std::move(connection)] {
                                      if (const auto listener = self.lock())
                                        listener->deliver(connection);
                                    });
  }

  void deliver(const ConnectionPointer &connection) {
    std::unique_lock guard(mutex);
    if (failure)
      return;
    if (wanted.empty()) {
      greeted.push_back(connection);
      return;
    }
    const accept_callback_fn fn = std::move(wanted.front());
    wanted.pop_front();
    guard.unlock();
    fn(tensorpipe::Error(), connection);
  }

  void fail(const tensorpipe::Error &error) {
    std::unique_lock guard(mutex);
    failure = error;
    greeted.clear();
    const std::deque<accept_callback_fn> told = std::exchange(wanted, {});
    guard.unlock();
    for (const accept_callback_fn &fn : told)
      fn(error, nullptr);
  }

  const std::shared_ptr<transport::Listener> inner;
  const dist::HelloTo to;
  in_port_t port = 0;
  std::map<std::string, int> known; ///< used by the accepting thread

  std::mutex mutex;
  tensorpipe::Error failure;
  std::deque<accept_callback_fn> wanted;
  std::deque<ConnectionPointer> greeted;
};

/// Forwards to another context, except for its listeners.
class GuardedContext : public transport::Context {
public:
  GuardedContext(std::shared_ptr<transport::Context> inner, dist::HelloTo to)
      : inner(std::move(inner)), to(to) {}

  ConnectionPointer connect(std::string addr) override { return inner->connect(std::move(addr)); }
  std::shared_ptr<transport::Listener> listen(std::string addr) override {
    auto listener = std::make_shared<GuardedListener>(inner->listen(std::move(addr)), to);
    listener->start();
    return listener;
  }
  bool isViable() const override { return inner->isViable(); }
  const std::string &domainDescriptor() const override { return inner->domainDescriptor(); }
  bool canCommunicateWithRemote(const std::string &remote) const override {
    return inner->canCommunicateWithRemote(remote);
  }
  void setId(std::string id) override { inner->setId(std::move(id)); }
  void close() override { inner->close(); }
  void join() override { inner->join(); }

private:
  const std::shared_ptr<transport::Context> inner;
  const dist::HelloTo to;
};
} // namespace

static std::shared_ptr<transport::Context> makeContext(dist::HelloTo to) {
  return std::make_shared<GuardedContext>(transport::uv::create(), to);
}

static std::unique_ptr<rpc::TransportRegistration> makeTransport() {
  return std::make_unique<rpc::TransportRegistration>(
      rpc::TransportRegistration{makeContext(dist::HelloTo::Listener), rpc::kUvTransportPriority,
                                 rpc::TensorPipeAgent::guessAddress()});
}

static std::unique_ptr<rpc::ChannelRegistration> makeChannel() {
  std::vector<std::shared_ptr<transport::Context>> contexts;
  std::vector<std::shared_ptr<transport::Listener>> listeners;
  for (size_t lane = 0; lane < lanes; ++lane) {
    contexts.push_back(makeContext(dist::HelloTo::Lane));
    listeners.push_back(contexts.back()->listen(rpc::TensorPipeAgent::guessAddress()));
  }
  return std::make_unique<rpc::ChannelRegistration>(rpc::ChannelRegistration{
      tensorpipe::channel::mpt::create(std::move(contexts), std::move(listeners)),
      rpc::kMultiplexedUvChannelPriority});
}

void updraft::torch_adapter::guardTransports() {
  dist::HelloWatch::process(); // otherwise a thread of TensorPipe would create it, and fail there
  static const bool once = [] {
    rpc::TensorPipeTransportRegistry()->Register("uv", makeTransport, c10::REGISTRY_PREFERRED);
    rpc::TensorPipeChannelRegistry()->Register("mpt_uv", makeChannel, c10::REGISTRY_PREFERRED);
    return true;
  }();
  static_cast<void>(once);
}
