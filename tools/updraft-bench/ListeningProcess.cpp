//===- ListeningProcess.cpp - Another process that serves gRPC --------------------------------===//

#include "ListeningProcess.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

using namespace updraft::bench;

extern char **environ;

ListeningProcess::ListeningProcess(const std::vector<std::string> &command) {
  int output[2];
  if (::pipe2(output, O_CLOEXEC))
    throw std::runtime_error("cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  std::vector<const char *> argv;
  for (const std::string &argument : command)
    argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  const int failed = ::posix_spawn(&process, argv[0], &actions, nullptr,
                                   const_cast<char **>(argv.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(output[1]);
  std::string line;
  char next = 0;
  while (!failed && ::read(output[0], &next, 1) == 1 && next != '\n')
    line += next;
  ::close(output[0]);
  constexpr std::string_view before = "listening on ";
  if (!failed && line.starts_with(before)) {
    listeningOn = line.substr(before.size());
    return;
  }
  if (!failed)
    end(); // the destructor doesn't run
  throw std::runtime_error(fmt::format("`{}` doesn't listen", command[0]));
}

ListeningProcess::~ListeningProcess() { end(); }

void ListeningProcess::end() {
  ::kill(process, SIGTERM);
  ::waitpid(process, nullptr, 0);
}
