//===- updraft-gpu-suite.cpp - Checks and times steps on a GPU --------------------------------===//

#include "Child.h"
#include "Parts.h"
#include "RuleCases.h"
#include "Summary.h"
#include "runtime/base/MessageText.h"
#include "tools/harness/TemporaryFolder.h"
#include "tools/options/StandardStreams.h"
#include "updraft-c/compiler.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

using namespace updraft::suite;
namespace fs = std::filesystem;

namespace {
constexpr const char *footer = R"(
Parts: correctness (every rule is compared bit by bit with the CPU; captured graphs), benchmarks (steps
beside the memory limit), compilation, peers (torch, Triton: needs a Python with torch), sanitizer
(compute-sanitizer over a part of correctness). Each part is a process, and the file is written after
each, so results survive a crash or a time limit.

Examples:
  gpu-suite                             run everything; write gpu-suite.json
  gpu-suite --parts=correctness --quick
  gpu-suite --parts=peers --python=/opt/torch/bin/python3 --output=peers.json
  gpu-suite --device=emulator --quick --only=adamw,lamb    on a machine without a GPU

Exit codes: 0 nothing failed (tests that can't run here are skipped, with the reason), 1 a test failed,
100 and above an error in the command line.)";

struct CommandLine {
  Options suite;
  std::string device = "cuda", output = "gpu-suite.json", python = "python3";
  std::vector<std::string> parts{"correctness", "benchmarks", "compilation", "peers", "sanitizer"};
  int seconds = 900;
  std::string part, label, lines; // arguments of a child process
};

std::unique_ptr<Device> openDevice(const std::string &name) {
  if (name == "emulator")
    return openEmulator();
  return openCuda(name == "cuda" ? 0 : std::stoi(name.substr(name.find(':') + 1)));
}

void runPart(const CommandLine &line) {
  const std::unique_ptr<Device> device = openDevice(line.device);
  // A part that runs again has recorded its figures already.
  const bool hasFigures =
      device->kind() == UPD_CUDA && !line.suite.quick && line.label == line.part;
  Recorder recorder(line.label, line.lines, hasFigures);
  if (line.part == "correctness")
    runCorrectness(*device, line.suite, recorder);
  else if (line.part == "benchmarks")
    runBenchmarks(*device, line.suite, recorder);
  else
    runCompilation(*device, line.suite, recorder);
}

/// An exception that ends a part is recorded as a result.
int runChildsPart(const CommandLine &line) {
  try {
    runPart(line);
  } catch (const std::exception &error) {
    Recorder(line.label, line.lines, false).run("whole part", [&]() -> nlohmann::ordered_json {
      throw std::runtime_error(error.what());
    });
  }
  return 0;
}

std::string contentsOf(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs each part as a child process.
class Suite {
public:
  explicit Suite(CommandLine line) : line(std::move(line)) {
    self = fs::read_symlink("/proc/self/exe");
    root = self.parent_path().parent_path();
  }

  int run() {
    fmt::print("{}\n", upd_version());
    std::fflush(stdout);
    // Writes the file now, so that an unwritable one is reported before the first part runs.
    summary.write(line.output);
    useCaches("warm");
    try {
      summary.setDevice(openDevice(line.device)->description());
    } catch (const Skipped &reason) {
      noDevice = reason.what();
    } catch (const std::exception &error) {
      summary.addResult("device", "opened", "failed", error.what());
      line.parts.clear();
      summary.write(line.output);
    }
    for (const std::string &part : line.parts) {
      runOne(part);
      summary.write(line.output);
    }
    fmt::print("{}; {}\n", summary.text(), line.output);
    return summary.count("failed") == 0 ? 0 : 1;
  }

private:
  /// The suite doesn't use or fill the user's caches.
  void useCaches(const char *name) const {
    for (const auto &[variable, cache] :
         {std::pair("UPDRAFT_CACHE_DIR", "rules"), std::pair("CUDA_CACHE_PATH", "driver"),
          std::pair("TRITON_CACHE_DIR", "triton"),
          std::pair("TORCHINDUCTOR_CACHE_DIR", "inductor")})
      setenv(variable, (folder / name / cache).c_str(), 1);
  }

  void skip(const std::string &part, const std::string &reason) {
    summary.addResult(part, "whole part", "skipped", reason);
  }

  void runOne(const std::string &part) {
    // A part that measures compilation starts with empty caches.
    useCaches(part == "compilation" ? "fresh" : "warm");
    if (!noDevice.empty())
      return skip(part, noDevice);
    if (line.device == "emulator" && (part == "peers" || part == "sanitizer"))
      return skip(part, "needs a GPU, and this is the emulator");
    if (part == "peers")
      return runPeers();
    if (part == "sanitizer")
      return runSanitizer();
    runChildFor(part, part);
    if (part == "compilation")
      runChildFor(part, "compilation, kept on disk");
  }

  void runChildFor(const std::string &part, const std::string &label) {
    const std::string lines = folder / label;
    std::vector<std::string> command = commandOf(part, lines, line.suite);
    command.push_back("--label=" + label);
    summary.addPart(label, lines, runChild(command, line.seconds));
  }

  std::vector<std::string> commandOf(const std::string &part, const std::string &lines,
                                     const Options &options) const {
    std::vector<std::string> command{self,
                                     "--part=" + part,
                                     "--lines=" + lines,
                                     "--device=" + line.device,
                                     "--rules=" + options.rulesFolder,
                                     fmt::format("--jobs={}", options.jobs)};
    if (options.quick)
      command.emplace_back("--quick");
    for (const std::string &rule : options.only)
      command.push_back("--only=" + rule);
    return command;
  }

  void runPeers() {
    const std::string python = findProgram(line.python);
    if (python.empty())
      return skip("peers",
                  fmt::format("`{}` not found; choose another with --python", line.python));
    const std::string lines = folder / "peers";
    std::vector<std::string> command{python,
                                     root / "peers.py",
                                     "--library=" + (root / "lib" / "libupdraft.so").string(),
                                     "--rules=" + line.suite.rulesFolder,
                                     "--lines=" + lines,
                                     "--device=" + line.device};
    if (line.suite.quick)
      command.emplace_back("--quick");
    summary.addPart("peers", lines, runChild(command, line.seconds));
  }

  void runSanitizer() {
    const std::string program = findProgram("compute-sanitizer", {"/usr/local/cuda/bin"});
    if (program.empty())
      return skip("sanitizer", "`compute-sanitizer` not found; it is in the CUDA toolkit");
    for (const char *tool : {"memcheck", "racecheck", "initcheck", "synccheck"})
      sanitize(program, tool);
  }

  /// Uses a rule of one sweep, one with reductions over tensors, one over rows and columns, and one
  /// with products.
  void sanitize(const std::string &program, const std::string &tool) {
    Options few = line.suite;
    few.quick = true;
    few.jobs = 1;
    few.only = {"adamw", "lamb", "adafactor", "scion"};
    const std::string log = folder / "sanitizer.log";
    std::vector<std::string> command{program, "--tool",           tool, "--report-api-errors",
                                     "no",    "--error-exitcode", "86"};
    const std::string lines = folder / ("sanitizer-" + tool);
    const std::vector<std::string> ours = commandOf("correctness", lines, few);
    command.insert(command.end(), ours.begin(), ours.end());
    const std::string ending = runChild(command, line.seconds, log);
    const std::string text = contentsOf(log);
    if (text.find("Device not supported") != std::string::npos)
      return summary.addResult("sanitizer", tool, "skipped",
                               "compute-sanitizer does not support this device");
    // Steps that didn't run don't prove anything.
    const bool anyPassed = contentsOf(lines).find("passed") != std::string::npos;
    if (ending.empty() && anyPassed && text.find("SUMMARY") != std::string::npos)
      return summary.addResult("sanitizer", tool, "passed", "");
    const size_t shown = 3000;
    summary.addResult("sanitizer", tool, "failed",
                      fmt::format("{}; the end of its log: {}",
                                  !ending.empty() ? ending
                                  : anyPassed     ? "ended without a summary of errors"
                                                  : "no steps passed under it",
                                  text.size() > shown ? text.substr(text.size() - shown) : text));
  }

  CommandLine line;
  Summary summary;
  fs::path self, root;
  const updraft::harness::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  std::string noDevice;
};
} // namespace

int main(int argc, char **argv) {
  updraft::watchStandardOutput();
  CLI::App app("Checks and times steps of Updraft's rules on a GPU.");
  app.footer(footer);
  app.set_version_flag("--version", upd_version());
  CommandLine line;
  const auto parts = line.parts;
  line.suite.rulesFolder = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "rules";
  line.suite.jobs =
      static_cast<int>(std::min(8U, std::max(1U, std::thread::hardware_concurrency())));
  app.add_option("--device", line.device,
                 "cuda, cuda:1, …, or emulator, which only shows that "
                 "the suite works")
      ->check(CLI::Validator(
          [](const std::string &name) {
            const bool isNumbered = name.starts_with("cuda:") && name.size() > 5 &&
                                    name.size() < 9 &&
                                    name.find_first_not_of("0123456789", 5) == std::string::npos;
            return name == "cuda" || name == "emulator" || isNumbered
                       ? std::string()
                       : fmt::format("unknown device `{}`; expected cuda, cuda:N or emulator",
                                     name);
          },
          "NAME"))
      ->capture_default_str();
  app.add_option("--parts", line.parts, "Parts to run, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(parts));
  app.add_option("--output", line.output, "JSON file for all results")->capture_default_str();
  app.add_flag("--quick", line.suite.quick, "Small sizes and few storage types");
  app.add_option("--only", line.suite.only, "Run correctness and compilation for these rules only")
      ->delimiter(',');
  app.add_option("--jobs", line.suite.jobs, "Threads that compile")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--seconds", line.seconds, "Time limit of a part")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_option("--python", line.python, "Python with torch, for peers")->capture_default_str();
  app.add_option("--rules", line.suite.rulesFolder, "Folder of the shipped rules");
  app.add_option("--part", line.part, "")->group("");
  app.add_option("--label", line.label, "")->group("");
  app.add_option("--lines", line.lines, "")->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::vector<std::string> rules = shippedRules(line.suite);
    for (const std::string &rule : line.suite.only)
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) {
        updraft::printMessage(fmt::format("error: no rule `{}` in {}{}\n", rule,
                                          line.suite.rulesFolder,
                                          updraft::runtime::nameHint(rule, rules)));
        return 100;
      }
    return line.part.empty() ? Suite(line).run() : runChildsPart(line);
  } catch (const std::exception &error) {
    updraft::printMessage(fmt::format("error: {}\n", error.what()));
    return 1;
  }
}
