//===- Log.cpp - A worker's log ---------------------------------------------------------------===//

#include "Log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

using namespace updraft;
using worker::Severity;

static spdlog::level::level_enum levelOf(Severity severity) {
  switch (severity) {
  case Severity::Debug:
    return spdlog::level::debug;
  case Severity::Info:
    return spdlog::level::info;
  case Severity::Warning:
    return spdlog::level::warn;
  case Severity::Error:
    return spdlog::level::err;
  }
  return spdlog::level::err;
}

Severity worker::severityNamed(std::string_view name) {
  return name == "debug"     ? Severity::Debug
         : name == "info"    ? Severity::Info
         : name == "warning" ? Severity::Warning
                             : Severity::Error;
}

void worker::openLog(Severity least) {
  auto logger = std::make_shared<spdlog::logger>("updraft-worker",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  logger->set_level(levelOf(least));
  spdlog::set_default_logger(std::move(logger));
}

/// Longer values are cut.
static constexpr size_t longestValue = 256;

static bool isPlain(char one) { return one >= 0x20 && one < 0x7f; }

/// The text, in quotes unless it is a single word, without characters that a terminal or another
/// program could take as more than text.
static std::string quoted(std::string_view text) {
  if (text.size() > longestValue)
    return quoted(text.substr(0, longestValue)) + fmt::format("...({} bytes)", text.size());
  const bool isWord = !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos &&
                      std::all_of(text.begin(), text.end(), isPlain);
  if (isWord)
    return std::string(text);
  std::string result = "\"";
  for (char one : text) {
    if (one == '"' || one == '\\')
      result += '\\';
    if (!isPlain(one))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(one));
    else
      result += one;
  }
  return result + '"';
}

void worker::log(Severity severity, std::string_view message,
                 const std::vector<std::pair<std::string_view, std::string>> &values) {
  std::string line = fmt::format("msg={}", quoted(message));
  for (const auto &[name, value] : values)
    line += fmt::format(" {}={}", name, quoted(value));
  spdlog::log(levelOf(severity), "{}", line);
}
