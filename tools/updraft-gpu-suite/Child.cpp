//===- Child.cpp - Child processes with a time limit ------------------------------------------===//

#include "Child.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

std::string updraft::suite::findProgram(const std::string &name,
                                        const std::vector<std::string> &folders) {
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? name : "";
  const char *path = std::getenv("PATH");
  std::istringstream inPath(path ? path : "/usr/bin:/bin");
  std::vector<std::string> all;
  for (std::string folder; std::getline(inPath, folder, ':');)
    all.push_back(folder);
  all.insert(all.end(), folders.begin(), folders.end());
  for (const std::string &folder : all)
    if (const std::string file = folder + "/" + name; access(file.c_str(), X_OK) == 0)
      return file;
  return "";
}

static std::string describe(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return "";
}

std::string updraft::suite::runChild(const std::vector<std::string> &command, int seconds,
                                     const std::string &output) {
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  pid_t child = 0;
  const int error =
      posix_spawn(&child, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return fmt::format("could not start: {}", std::strerror(error));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return fmt::format("took longer than {} s", seconds);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return describe(status);
}
