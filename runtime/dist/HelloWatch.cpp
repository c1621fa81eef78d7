//===- HelloWatch.cpp - Connections that haven't said hello yet -------------------------------===//

#include "runtime/dist/HelloWatch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace updraft::dist;
using std::chrono::milliseconds;

/// Members say hello immediately, or after a pause if the process was stopped.
static constexpr std::chrono::seconds patience{60};
/// The limit on waiting connections. A new one replaces the oldest.
static constexpr size_t capacity = 1024;
/// The delay before checking for the rest of a hello.
static constexpr milliseconds rest{5};

HelloWatch &HelloWatch::process() {
  // Never destroyed, because its thread runs until the process exits.
  static auto *all = new HelloWatch;
  return *all;
}

static void checkWatch(int error, const char *hint) {
  if (error != 0)
    throw std::runtime_error(std::string("cannot watch new connections: ") + std::strerror(error) +
                             "; " + hint);
}

HelloWatch::HelloWatch() : wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  checkWatch(wake < 0 ? errno : 0, "raise the limit on open files (`ulimit -n`)");
  // Signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const auto watch = [](void *self) -> void * {
    static_cast<HelloWatch *>(self)->run();
    return nullptr;
  };
  const int error = pthread_create(&thread, nullptr, watch, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    close(wake);
  checkWatch(error, "raise the limits on threads (`ulimit -u`) and memory");
  pthread_detach(thread);
}

void HelloWatch::add(int socket, HelloTo to, std::function<void()> greeted) {
  {
    std::lock_guard guard(mutex);
    added.push_back({socket, to, std::move(greeted), Clock::now() + patience});
  }
  eventfd_write(wake, 1);
}

bool HelloWatch::look(Waiting &one) {
  // Checked first: all data has arrived by then.
  pollfd closed{one.socket, POLLRDHUP, 0};
  const bool isAll = poll(&closed, 1, 0) > 0;
  std::array<uint8_t, longestHello> bytes;
  const ssize_t count = recv(one.socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0)
    return errno != EAGAIN && errno != EINTR;
  if (count == 0) // the other side closed the connection
    return true;
  const Hello hello = checkHello({bytes.data(), static_cast<size_t>(count)}, one.to);
  if (hello == Hello::Valid)
    one.greeted();
  one.isPartial = hello == Hello::Incomplete;
  return hello != Hello::Incomplete || isAll;
}

void HelloWatch::run() {
  pthread_setname_np(pthread_self(), "UPD_hello");
  std::vector<Waiting> waiting;
  while (true) {
    std::vector<pollfd> polled{{wake, POLLIN, 0}};
    milliseconds timeout{-1};
    for (const Waiting &one : waiting) {
      // poll() would report a partial hello continuously.
      polled.push_back({one.isPartial ? -1 : one.socket, POLLIN, 0});
      const auto left = one.isPartial ? rest
                                      : std::chrono::ceil<milliseconds>(std::max(
                                            one.end - Clock::now(), Clock::duration::zero()));
      timeout = timeout.count() < 0 ? left : std::min(timeout, left);
    }
    poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));

    size_t kept = 0;
    for (size_t i = 0; i < waiting.size(); ++i) {
      Waiting &one = waiting[i];
      const bool isTold = one.isPartial || polled[i + 1].revents;
      if ((isTold && look(one)) || Clock::now() >= one.end) {
        close(one.socket);
        continue;
      }
      if (kept != i)
        waiting[kept] = std::move(one);
      ++kept;
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(kept), waiting.end());

    eventfd_t ignored;
    eventfd_read(wake, &ignored);
    std::lock_guard guard(mutex);
    std::move(added.begin(), added.end(), std::back_inserter(waiting));
    added.clear();
    while (waiting.size() > capacity) {
      close(waiting.front().socket);
      waiting.erase(waiting.begin());
    }
  }
}
