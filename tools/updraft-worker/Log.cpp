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

/// The text, in quotes unless it is a single word. A client can't start a new line in the log.
static std::string quoted(std::string_view text) {
  const bool isWord = !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos &&
                      std::none_of(text.begin(), text.end(), [](char one) {
                        return static_cast<unsigned char>(one) < 0x20 || one == 0x7f;
                      });
  if (isWord)
    return std::string(text);
  std::string result = "\"";
  for (char one : text) {
    if (one == '"' || one == '\\')
      result += '\\';
    if (static_cast<unsigned char>(one) < 0x20 || one == 0x7f)
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
