//===- OptionsFuzzer.cpp - Configuration files of a parameter server --------------------------===//
// A file is either options within their ranges or refused.

#include "FuzzTarget.h"

#include "tools/updraft-worker/Options.h"

#include <CLI/CLI.hpp>

#include <sstream>

using namespace updraft::fuzz;

static void run(std::string_view input) {
  CLI::App app;
  updraft::worker::Options options;
  updraft::worker::addOptions(app, options);
  std::istringstream file{std::string(input)};
  try {
    app.parse_from_stream(file);
  } catch (const CLI::ParseError &error) {
    if (std::string_view(error.what()).empty())
      finding("a refusal without a reason");
    return;
  }
  const bool isInRange =
      options.memory >= 0.001 && options.memory <= 1e6 && options.clientMemory >= 0.001 &&
      options.clientMemory <= 1e6 && options.clients.requests > 0 && options.lease > 0 &&
      options.patience >= 0 && options.snapshotInterval > 0 && options.journal > 0;
  if (!isInRange)
    finding("a number is out of its range");
  if (options.durability != "step" && options.durability != "snapshot")
    finding("unknown durability: " + options.durability);
  if (options.checkOnly)
    finding("a file says that it is only checked");
}

static std::vector<std::string> words() {
  CLI::App app;
  updraft::worker::Options options;
  updraft::worker::addOptions(app, options);
  std::vector<std::string> result = {" = ", "true", "1e6", "nan", "[", "]",
                                     "\"",  "'",    ", ",  "#",   "\n"};
  for (const CLI::Option *option : app.get_options())
    result.push_back(option->get_name().substr(2));
  return result;
}

const FuzzTarget updraft::fuzz::optionsTarget = {"options", run, nullptr, words};
