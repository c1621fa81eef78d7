//===- CompileProcess.cpp - Compiling in a process with limits --------------------------------===//

#include "CompileProcess.h"

#include "RuleSource.h"
#include "runtime/server/Refusal.h"
#include "updraft/Driver/Version.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <poll.h>
#include <semaphore>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace updraft;
using server::Reason;
using server::Refusal;

static constexpr int seconds = 5;
/// Others wait, because each may use all the memory and a processor.
static constexpr int mostProcesses = 2;
static constexpr rlim_t addressBytes = rlim_t(4) << 30;
/// The largest package that a rule's text can make is far smaller.
static constexpr size_t mostBytes = size_t(64) << 20;

namespace {

/// Exit codes of the process. Others mean that it failed.
enum Result { Compiled = 0, Refused = 10, Failed = 11 };

/// A file descriptor.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return number; }
  void close() {
    if (number >= 0)
      ::close(number);
    number = -1;
  }

private:
  int number;
};

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Refusal(Reason::ResourceExhausted,
                    fmt::format("cannot start a compiler: {}", std::strerror(errno)));
    reading = std::make_unique<Descriptor>(ends[0]);
    writing = std::make_unique<Descriptor>(ends[1]);
  }
  std::unique_ptr<Descriptor> reading, writing;
};

/// One of a limited number at the same time.
class Turn {
public:
  Turn() { free.acquire(); }
  ~Turn() { free.release(); }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  static inline std::counting_semaphore<mostProcesses> free{mostProcesses};
};

/// A process that is killed unless it has ended.
class Process {
public:
  explicit Process(pid_t id) : id(id) {}
  ~Process() {
    if (id > 0) {
      ::kill(id, SIGKILL);
      wait();
    }
  }
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  int wait() {
    int status = 0;
    while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    id = 0;
    return status;
  }

private:
  pid_t id;
};

} // namespace

static pid_t spawn(const Pipe &input, const Pipe &output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.reading->get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.writing->get(), STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char name[] = "updraft-worker", command[] = "compile";
  char *arguments[] = {name, command, nullptr};
  char *environment[] = {nullptr};
  pid_t id = 0;
  const int error =
      posix_spawn(&id, "/proc/self/exe", &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw Refusal(Reason::ResourceExhausted,
                  fmt::format("cannot start a compiler: {}", std::strerror(error)));
  return id;
}

bool worker::hasCompiler() { return true; }
std::string worker::versionText() { return versionString().str(); }

std::string worker::compileApart(const v1::Rule &rule) {
  checkSource(rule); // before a process is started
  const std::string text = rule.SerializeAsString();
  const Turn turn;
  Pipe input, output;
  Process process(spawn(input, output));
  input.reading->close();
  output.writing->close();
  ::fcntl(input.writing->get(), F_SETFL, O_NONBLOCK);

  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2 * seconds);
  const Refusal tooSlow(Reason::InvalidArgument,
                        fmt::format("the rule takes more than {} s to compile; make it smaller, or "
                                    "compile it to a package",
                                    seconds));
  std::string result;
  for (size_t sent = 0;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0)
      throw tooSlow;
    pollfd some[] = {{output.reading->get(), POLLIN, 0},
                     {sent < text.size() ? input.writing->get() : -1, POLLOUT, 0}};
    if (::poll(some, 2, static_cast<int>(left.count())) <= 0)
      continue;
    if (some[1].revents != 0) {
      const ssize_t count = ::write(input.writing->get(), text.data() + sent, text.size() - sent);
      sent += count > 0 ? static_cast<size_t>(count) : 0;
      if (sent == text.size() || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        sent = text.size();
        input.writing->close();
      }
    }
    if (some[0].revents == 0)
      continue;
    char part[1 << 16];
    const ssize_t count = ::read(output.reading->get(), part, sizeof(part));
    if (result.size() > mostBytes)
      throw Refusal(Reason::InvalidArgument, "the rule compiles to too much code");
    if (count == 0 || (count < 0 && errno != EINTR))
      break;
    result.append(part, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  const int status = process.wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == Compiled)
    return result;
  if (WIFEXITED(status) && WEXITSTATUS(status) == Refused)
    throw Refusal(Reason::InvalidArgument, result);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    throw tooSlow;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    throw Refusal(Reason::ResourceExhausted,
                  "the compiler was killed; the machine may be out of memory");
  throw Refusal(Reason::Internal,
                fmt::format("the compiler has failed: {}",
                            !result.empty() ? result
                            : WIFSIGNALED(status)
                                ? fmt::format("signal {}", WTERMSIG(status))
                                : fmt::format("exit code {}", WEXITSTATUS(status))));
}

int worker::compileHere() {
  const auto limit = [](auto resource, rlim_t soft, rlim_t hard) {
    const rlimit both{soft, hard};
    ::setrlimit(resource, &both);
  };
  // SIGXCPU comes at the first one. At the second it would be SIGKILL, which has other causes.
  limit(RLIMIT_CPU, seconds, seconds + 1);
  limit(RLIMIT_AS, addressBytes, addressBytes);
  limit(RLIMIT_CORE, 0, 0);
  std::string text, result;
  char part[1 << 12];
  for (ssize_t count; (count = ::read(STDIN_FILENO, part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(count));
  int code = Compiled;
  try {
    v1::Rule rule;
    if (!rule.ParseFromString(text))
      throw Refusal(Reason::InvalidArgument, "the standard input is not a rule of a worker");
    result = packSource(rule);
  } catch (const Refusal &refusal) {
    code = refusal.reason() == Reason::InvalidArgument ? Refused : Failed;
    result = refusal.what();
  } catch (const std::exception &error) {
    code = Failed;
    result = error.what();
  }
  for (size_t sent = 0; sent < result.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, result.data() + sent, result.size() - sent);
    if (count < 0 && errno != EINTR)
      return Failed;
    sent += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return code;
}
