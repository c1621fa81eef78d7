//===- updraft-run.cpp - Applies a rule to the tensors of a file ------------------------------===//

#include "RuleFile.h"
#include "Run.h"
#include "TensorFile.h"
#include "runtime/files/FileReplacement.h"
#include "tools/options/ExitCode.h"
#include "tools/options/KeyFile.h"
#include "tools/options/NameValue.h"
#include "tools/options/StandardStreams.h"
#include "updraft-c/compiler.h"
#include "updraft-c/language.h"
#include "updraft-c/timeline.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <utility>

using namespace updraft::run;
using updraft::runtime::invalidArgument;
using updraft::runtime::Status;

namespace {
constexpr const char *footer = R"(
Names of tensors: param/NAME, grad/NAME, state/NAME/STATE, and the step count state/NAME/step, a scalar.
Missing states start from their initial value, in the type that --storage or the rule gives. A parameter
without a gradient doesn't change.

Examples:
  updraft-run adamw.upd --in model.safetensors --out after.safetensors
  updraft-run sgd.upd --in in.safetensors --out out.safetensors --steps 10 --set momentum=0.9,lr=0.1
  updraft-run adamw.upd --in in.safetensors --out out.safetensors --storage state=q8_companded
  updraft-run adamw.updraft --in in.safetensors --out out.safetensors --set lr=1e-4

Exit codes: 0 success, 1 error in the rule, the request or the tensors, 2 a file could not be read or
written, 3 a bug in Updraft, 100 and above an error in the command line.)";

/// The number of parameters that the step changed, and of those without a gradient.
struct Counts {
  size_t stepped = 0;
  size_t leftAlone = 0;
};

Status splitAll(const char *option, const std::vector<std::string> &texts,
                std::vector<std::pair<std::string, std::string>> &result) {
  for (const std::string &text : texts) {
    auto parts = updraft::splitNameValue(text);
    if (!parts)
      return invalidArgument(fmt::format("`{} {}` is not of the form name=value", option, text));
    result.push_back(std::move(*parts));
  }
  return {};
}

Status readStorage(const std::vector<std::string> &texts, Storage &storage) {
  std::vector<std::string_view> known;
  for (size_t i = 0; i < upd_storage_type_count(); ++i)
    known.emplace_back(upd_storage_type_name(i));
  std::vector<std::pair<std::string, std::string>> pairs;
  if (Status status = splitAll("--storage", texts, pairs); !status.ok())
    return status;
  for (const auto &[name, text] : pairs) {
    const auto type = std::find(known.begin(), known.end(), text);
    if (type == known.end())
      return invalidArgument(fmt::format("unknown storage type `{}`; the types are `{}`", text,
                                         fmt::join(known, "`, `")));
    storage.insert_or_assign(name, *type);
  }
  return {};
}

/// Checks before the work that an output doesn't overwrite another file of the command.
Status checkDistinct(const char *option, const std::string &output,
                     std::initializer_list<std::pair<const char *, const std::string &>> others) {
  for (const auto &[what, other] : others)
    if (!output.empty() && !other.empty() && updraft::files::wouldBeSameFile(other, output))
      return invalidArgument(
          fmt::format("`{}` names {} `{}`; name another file", option, what, other));
  return {};
}

/// Checks before the work that the results can be written and overwrite no other file of the
/// command. Only the tensors may replace the input.
Status checkOutputs(const RunOptions &options) {
  constexpr const char *rule = "the rule's own file", *key = "the file of `--require-signature`",
                       *input = "the file of `--in`", *output = "the file of `--out`",
                       *probes = "the file of `--probe-out`";
  if (Status status = checkDistinct("--out", options.output,
                                    {{rule, options.ruleFile}, {key, options.requiredKeyFile}});
      !status.ok())
    return status;
  if (Status status = checkDistinct("--probe-out", options.probeOutput,
                                    {{rule, options.ruleFile},
                                     {key, options.requiredKeyFile},
                                     {input, options.input},
                                     {output, options.output}});
      !status.ok())
    return status;
  if (Status status = checkDistinct("--timeline", options.timeline,
                                    {{rule, options.ruleFile},
                                     {key, options.requiredKeyFile},
                                     {input, options.input},
                                     {output, options.output},
                                     {probes, options.probeOutput}});
      !status.ok())
    return status;
  if (auto failure = updraft::files::FileReplacement(options.output).open())
    return updraft::runtime::ioError(
        fmt::format("cannot write `{}`: {}", options.output, *failure));
  if (!options.probeOutput.empty())
    if (auto failure = updraft::files::checkWritable(options.probeOutput))
      return updraft::runtime::ioError(
          fmt::format("cannot write `{}`: {}", options.probeOutput, *failure));
  if (options.timeline.empty())
    return {};
  if (auto failure = updraft::files::checkWritable(options.timeline))
    return updraft::runtime::ioError(
        fmt::format("cannot write the timeline `{}`: {}", options.timeline, *failure));
  return {};
}

/// Writes the probes of all steps to the file of `--probe-out`, or with `--probe` alone to the
/// standard output.
Status writeProbes(const RunOptions &options, const ProbeTable &table) {
  if (options.probeOutput.empty()) {
    if (!options.probes.empty())
      std::fputs(table.text().c_str(), stdout);
    return {};
  }
  if (auto failure = updraft::files::writeFile(options.probeOutput, table.text()))
    return updraft::runtime::ioError(
        fmt::format("cannot write `{}`: {}", options.probeOutput, *failure));
  return {};
}

/// Runs the steps, and writes their timeline if one is asked for.
Status runOnTimeline(const RunOptions &options, FileContents &contents, ProbeTable &table) {
  if (options.timeline.empty())
    return run(options, contents, table);
  if (const upd_status status = upd_timeline_start(); status != UPD_OK)
    return {status, upd_last_error()};
  if (Status status = run(options, contents, table); !status.ok())
    return status;
  if (const upd_status status = upd_timeline_stop(options.timeline.c_str()); status != UPD_OK)
    return {status, upd_last_error()};
  return {};
}

Status runTool(RunOptions &options, Counts &counts) {
  if (Status status = checkOutputs(options); !status.ok())
    return status;
  if (Status status = readRule(options); !status.ok())
    return status;
  FileContents contents;
  if (Status status = readContents(options.input, contents); !status.ok())
    return status;
  ProbeTable table;
  if (Status status = runOnTimeline(options, contents, table); !status.ok())
    return status;
  for (const auto &[name, parameter] : contents.parameters)
    ++(parameter.grad ? counts.stepped : counts.leftAlone);
  if (Status status = writeContents(options.output, contents); !status.ok())
    return status;
  return writeProbes(options, table);
}
} // namespace

int main(int argc, char **argv) {
  updraft::watchStandardOutput();
  CLI::App app("Applies an optimizer update rule to the tensors of a safetensors file.");
  app.footer(footer);
  app.set_version_flag("--version", upd_version());
  RunOptions options;
  std::vector<std::string> settings, storage;
  app.add_option("FILE", options.ruleFile, "Rule file (.upd) or package (.updraft)")->required();
  app.add_option("--rule", options.rule, "The rule to use if the file has several");
  app.add_option("--in", options.input, "File with the tensors")->required();
  app.add_option("--out", options.output, "File to write")->required();
  app.add_option("--steps", options.steps,
                 "How many times to apply the rule, with the same gradients")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 53))
      ->capture_default_str();
  updraft::addNameValues(app, "--set", settings,
                         "name=value: sets a hyperparameter or a static flag", "NAME=VALUE");
  updraft::addStorage(app, storage);
  app.add_option("--probe", options.probes,
                 "name=expression, or the name of a function: a number for each parameter and\n"
                 "step, printed as CSV")
      ->type_name("PROBE")
      ->allow_extra_args(false);
  app.add_option("--probe-out", options.probeOutput,
                 "File for the probes (default: the standard output)");
  app.add_option("--timeline", options.timeline,
                 "File for a timeline of the steps, for ui.perfetto.dev");
  app.add_option("--numerics", options.numerics,
                 "ieee, torch or fast: how arithmetic rounds (default: as packed, otherwise ieee)")
      ->type_name("MODE");
  updraft::addKeyFile(app, "--require-signature", options.requiredKeyFile,
                      "Accept only a package with a signature that the public Ed25519 key in a\n"
                      "PEM file verifies; refuse rule files",
                      "PUBLIC.pem");
  CLI11_PARSE(app, argc, argv);

  Counts counts;
  Status status;
  try {
    status = splitAll("--set", settings, options.settings);
    if (status.ok())
      status = readStorage(storage, options.storage);
    if (status.ok())
      status = runTool(options, counts);
  } catch (const std::bad_alloc &) {
    status = Status(UPD_OUT_OF_MEMORY, "not enough memory for the tensors");
  }
  if (!status.ok()) {
    bool located = status.code() == UPD_COMPILE_ERROR;
    updraft::printMessage(fmt::format("{}{}{}", located ? "" : "error: ", status.message(),
                                      status.message().ends_with('\n') ? "" : "\n"));
    return updraft::exitCodeOf(status.code());
  }
  if (!options.probes.empty() && options.probeOutput.empty())
    return 0; // the standard output is the table of probes
  std::string text = fmt::format("{} step{} on {} parameter{}, written to {}\n", options.steps,
                                 options.steps == 1 ? "" : "s", counts.stepped,
                                 counts.stepped == 1 ? "" : "s", options.output);
  if (counts.leftAlone)
    text += fmt::format("{} without a gradient unchanged\n", counts.leftAlone);
  std::fputs(text.c_str(), stdout); // doesn't throw; watchStandardOutput() reports a failed write
  return 0;
}
