//===- Summary.cpp - The suite's JSON ---------------------------------------------------------===//

#include "Summary.h"

#include "runtime/files/FileReplacement.h"
#include "updraft-c/compiler.h"

#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <gnu/libc-version.h>
#include <stdexcept>
#include <sys/utsname.h>
#include <thread>

using namespace updraft;
using namespace updraft::suite;
using json = nlohmann::ordered_json;

static std::string cpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown";
}

static std::string now() {
  const std::time_t time = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

Summary::Summary() {
  utsname system{};
  uname(&system);
  document = {{"updraft", upd_version()},
              {"date", now()},
              {"machine",
               {{"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
                {"cpu", cpuName()},
                {"threads", std::thread::hardware_concurrency()},
                {"glibc", gnu_get_libc_version()}}},
              {"device", nullptr},
              {"versions", json::object()},
              {"results", json::array()},
              {"figures", json::array()}};
}

void Summary::addPart(const std::string &part, const std::string &linesFile,
                      const std::string &ending) {
  std::ifstream file(linesFile);
  std::string last = "nothing";
  for (std::string text; std::getline(file, text);) {
    json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded() || !line.is_object())
      continue;
    if (line.contains("versions")) {
      document["versions"].update(line["versions"]);
    } else if (line.contains("figure")) {
      json figure{{"name", line["figure"]}};
      line.erase("figure");
      figure.update(line);
      document["figures"].push_back(figure);
    } else {
      last = line.value("name", last);
      document["results"].push_back(line);
    }
  }
  if (!ending.empty())
    addResult(part, "whole part", "failed",
              fmt::format("the process {}; its last result was `{}`", ending, last));
}

void Summary::addResult(const std::string &part, const std::string &name, const std::string &status,
                        const std::string &reason) {
  json result{{"part", part}, {"name", name}, {"status", status}};
  if (!reason.empty())
    result["reason"] = reason;
  document["results"].push_back(result);
  fmt::print("{:<8} {} {}{}{}\n", status, part, name, reason.empty() ? "" : ": ", reason);
  std::fflush(stdout);
}

int Summary::count(const std::string &status) const {
  int count = 0;
  for (const json &result : document["results"])
    count += result["status"] == status;
  return count;
}

std::string Summary::text() const {
  int reached = 0;
  for (const json &figure : document["figures"])
    reached += figure["reached"] == true;
  const size_t figures = document["figures"].size();
  return fmt::format(
      "{} passed, {} failed, {} skipped{}", count("passed"), count("failed"), count("skipped"),
      figures == 0 ? "" : fmt::format("; {} of {} figures reached", reached, figures));
}

void Summary::write(const std::string &path) {
  document["summary"] = {
      {"passed", count("passed")}, {"failed", count("failed")}, {"skipped", count("skipped")}};
  // Logs may contain any bytes.
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  if (const files::Failure failure = files::writeFile(path, text))
    throw std::runtime_error(fmt::format("cannot write `{}`: {}", path, *failure));
}
