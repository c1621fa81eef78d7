//===- PythonPeer.cpp - Contestants in a Python process ---------------------------------------===//

#include "PythonPeer.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

using namespace updraft::bench;

extern char **environ;

PythonPeer::PythonPeer(const std::string &python, const std::string &script, int threads,
                       const std::vector<std::string> &more) {
  int commands[2], answers[2];
  if (::pipe2(commands, O_CLOEXEC) || ::pipe2(answers, O_CLOEXEC))
    throw std::runtime_error("cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, commands[0], 0);
  posix_spawn_file_actions_adddup2(&actions, answers[1], 1);
  std::string threadCount = std::to_string(threads);
  std::vector<const char *> argv = {python.c_str(), script.c_str(), threadCount.c_str()};
  for (const std::string &argument : more)
    argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  int failed = ::posix_spawnp(&process, python.c_str(), &actions, nullptr,
                              const_cast<char **>(argv.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(commands[0]);
  ::close(answers[1]);
  toPeer = ::fdopen(commands[1], "w");
  fromPeer = ::fdopen(answers[0], "r");
  // Without the signal, ask() reports a peer that died.
  ::signal(SIGPIPE, SIG_IGN);
  if (failed)
    throw std::runtime_error(fmt::format("cannot start `{}`", python));
  isAvailable = ask("hello") != "none";
}

PythonPeer::~PythonPeer() {
  if (toPeer)
    ::fclose(toPeer); // ends the peer's loop
  if (fromPeer)
    ::fclose(fromPeer);
  if (process > 0)
    ::waitpid(process, nullptr, 0);
}

std::string PythonPeer::ask(const std::string &command) {
  fmt::print(toPeer, "{}\n", command);
  std::fflush(toPeer);
  char *line = nullptr;
  size_t capacity = 0;
  ssize_t length = ::getline(&line, &capacity, fromPeer);
  std::string answer = length > 0 ? std::string(line, length - 1) : "";
  std::free(line);
  if (!answer.starts_with("ok"))
    throw std::runtime_error(fmt::format("the Python peer failed at `{}`: {}", command,
                                         answer.empty() ? "no answer" : answer));
  return answer.size() > 3 ? answer.substr(3) : "";
}

Contestant PythonPeer::running(const std::string &name, const std::string &dtype,
                               const std::string &number) {
  return {name, dtype, [this, number](int count) {
            return std::stod(ask(fmt::format("run {} {}", number, count)));
          }};
}

std::optional<Contestant> PythonPeer::contestant(const std::string &name,
                                                 const std::string &implementation,
                                                 const PeerSetup &setup) {
  std::string answer = ask(fmt::format(
      "make {} {} {} {} {} {} {}", setup.optimizer, implementation,
      setup.fresh ? "fresh" : "persistent", setup.dtype, setup.tensors,
      setup.shapes.empty() ? std::to_string(setup.elements) : setup.shapes, setup.arguments));
  if (answer == "none")
    return std::nullopt;
  return running(name, setup.dtype, answer);
}

std::vector<Contestant> PythonPeer::torchContestants(const PeerSetup &setup) {
  std::vector<Contestant> result;
  for (const char *implementation : {"for-loop", "foreach", "fused"})
    if (auto found = contestant(fmt::format("torch {}", implementation), implementation, setup))
      result.push_back(std::move(*found));
  return result;
}

Contestant PythonPeer::sparse(const std::string &optimizer, const std::string &arguments,
                              int64_t rows, int64_t columns, int64_t listed, size_t lists) {
  return running("torch sparse", "f32",
                 ask(fmt::format("sparse {} {} {} {} {} {}", optimizer, rows, columns, listed,
                                 lists, arguments)));
}

Contestant PythonPeer::limit(const std::string &library, const std::string &dtype) {
  return running("limit", dtype, ask(fmt::format("limit {}", library)));
}

void PythonPeer::drop() { ask("drop"); }
