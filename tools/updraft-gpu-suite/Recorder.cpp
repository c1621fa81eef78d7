//===- Recorder.cpp - Records results as they arrive ------------------------------------------===//

#include "Recorder.h"

#include "tools/harness/Optimizer.h"

#include <chrono>
#include <fmt/format.h>

using namespace updraft::suite;
using json = nlohmann::ordered_json;

Recorder::Recorder(std::string part, const std::string &path, bool hasFigures)
    : part(std::move(part)), file(path, std::ios::app), hasFigures(hasFigures) {
  if (!file)
    throw std::runtime_error(fmt::format("cannot write `{}`", path));
}

void Recorder::write(const json &line, const std::string &text) {
  std::scoped_lock lock(mutex);
  file << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  if (!file)
    throw std::runtime_error("cannot write the results of the part `" + part + "`");
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

/// The values of a measurement that are worth printing.
static std::string summaryOf(const json &values) {
  std::string text;
  for (const auto &[name, value] : values.items())
    if (name.find("min_") != std::string::npos || name.find("max_") != std::string::npos)
      continue;
    else if (value.is_number_float())
      text += fmt::format("  {} {:.4g}", name, value.get<double>());
    else if (value.is_number())
      text += fmt::format("  {} {}", name, value.get<int64_t>());
  return text;
}

void Recorder::run(const std::string &name, const std::function<json()> &body) {
  const auto start = std::chrono::steady_clock::now();
  json line{{"part", part}, {"name", name}};
  std::string status = "passed", text;
  auto end = [&](const char *how, const std::exception &reason) {
    status = how;
    text = fmt::format(": {}", reason.what());
    line["reason"] = reason.what();
  };
  try {
    json values = body();
    text = summaryOf(values);
    line.update(values);
  } catch (const Skipped &reason) {
    end("skipped", reason);
  } catch (const updraft::harness::Unsupported &reason) {
    end("skipped", reason);
  } catch (const std::exception &error) {
    end("failed", error);
  }
  line["status"] = status;
  line["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write(line, fmt::format("{:<8} {} {}{}", status, part, name, text));
}

void Recorder::figure(const std::string &name, double value, const char *bound, double aim,
                      bool reached) {
  if (!hasFigures)
    return;
  std::string words = bound;
  words.replace(words.find('_'), 1, " ");
  write({{"figure", name}, {"value", value}, {bound, aim}, {"reached", reached}},
        fmt::format("figure   {}: {:.3g}, {} {:g}: {}", name, value, words, aim,
                    reached ? "reached" : "missed"));
}

void Recorder::figureAtLeast(const std::string &name, double value, double aim) {
  figure(name, value, "at_least", aim, value >= aim);
}

void Recorder::figureAtMost(const std::string &name, double value, double aim) {
  figure(name, value, "at_most", aim, value <= aim);
}
