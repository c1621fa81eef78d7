//===- Variable.cpp - The timeline that the environment asks for ------------------------------===//

#include "runtime/timeline/Variable.h"

#include "runtime/timeline/Recorder.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <unistd.h>

using namespace updraft::timeline;

static constexpr const char *variable = "UPDRAFT_TIMELINE";

/// Kept, because the program may change its environment.
static const std::string &pattern() {
  static const char *const value = std::getenv(variable);
  static const std::string &text = *new std::string(value ? value : "");
  return text;
}

std::string updraft::timeline::fileOfProcess(std::string_view name, long process) {
  std::string path(name);
  const std::string number = std::to_string(process);
  if (path.find("%p") == std::string::npos) {
    const size_t folder = path.rfind('/') + 1; // 0 without one
    const size_t dot = path.rfind('.');
    const bool hasExtension = dot != std::string::npos && dot > folder;
    path.insert(hasExtension ? dot : path.size(), "-%p");
  }
  for (size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += number.size())
    path.replace(at, 2, number);
  return path;
}

/// Nothing may be thrown while the process exits.
static void writeAtExit() noexcept {
  try {
    std::string why;
    if (spanCount() == 0)
      return;
    const std::string path = fileOfProcess(pattern(), getpid());
    if (stop(&path, why, Starter::Variable) == Stopped::NotWritten)
      std::fprintf(stderr, "updraft: cannot write the timeline `%s` of %s: %s\n", path.c_str(),
                   variable, why.c_str());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "updraft: cannot write the timeline of %s: %s\n", variable, error.what());
  }
}

bool updraft::timeline::startByVariable() {
  if (pattern().empty())
    return false;
  if (start(Starter::Variable) != Started::Yes)
    return false;
  std::atexit(writeAtExit);
  return true;
}
