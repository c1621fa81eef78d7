//===- updraft-run.cpp - A rule applied to the tensors of a file ------------------------------===//

#include "Run.h"
#include "TensorFile.h"
#include "tools/options/ExitCode.h"
#include "updraft-c/compiler.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <new>

using namespace updraft::run;
using updraft::runtime::Status;

namespace {
constexpr const char *footer = R"(
Names of tensors: param/NAME, grad/NAME, state/NAME/STATE, and the step count state/NAME/step, a scalar.
States that are missing start from their initial value. A parameter without gradient is left alone.

Examples:
  updraft-run adamw.upd --in model.safetensors --out after.safetensors
  updraft-run sgd.upd --in in.safetensors --out out.safetensors --steps 10 --set momentum=0.9,lr=0.1

Exit codes: 0 success, 1 error in the rule, the request or the tensors, 2 a file could not be read or
written, 3 a defect of Updraft, 100 and above an error in the command line.)";

/// How many parameters the step changed, and how many had no gradient.
struct Counts {
  size_t stepped = 0;
  size_t leftAlone = 0;
};

Status runTool(const RunOptions &options, Counts &counts) {
  Parameters parameters;
  if (Status status = readParameters(options.input, parameters); !status.ok())
    return status;
  if (Status status = run(options, parameters); !status.ok())
    return status;
  for (const auto &[name, parameter] : parameters)
    ++(parameter.grad ? counts.stepped : counts.leftAlone);
  return writeParameters(options.output, parameters);
}
} // namespace

int main(int argc, char **argv) {
  CLI::App app("Applies an optimizer update rule to the tensors of a safetensors file.");
  app.footer(footer);
  app.set_version_flag("--version", upd_version());
  RunOptions options;
  std::vector<std::string> settings;
  app.add_option("FILE", options.ruleFile, "Rule file (.upd)")->required();
  app.add_option("--rule", options.rule, "Rule to take, if the file has several");
  app.add_option("--in", options.input, "Tensors to start from")->required();
  app.add_option("--out", options.output, "File to write")->required();
  app.add_option("--steps", options.steps, "How often to apply the rule, with the same gradients")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 53))
      ->capture_default_str();
  app.add_option("--set", settings,
                 "name=value: a hyperparameter or a static flag; several with commas")
      ->type_name("NAME=VALUE")
      ->delimiter(',')
      ->allow_extra_args(false); // the next argument may be the file
  app.add_option("--numerics", options.numerics, "ieee, torch or fast: how arithmetic rounds")
      ->type_name("MODE")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  for (const std::string &setting : settings) {
    size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == setting.size()) {
      fmt::print(stderr, "error: `--set {}` is not of the form name=value\n", setting);
      return 1;
    }
    options.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }

  Counts counts;
  Status status;
  try {
    status = runTool(options, counts);
  } catch (const std::bad_alloc &) {
    status = Status(UPD_OUT_OF_MEMORY, "not enough memory for the tensors");
  }
  if (!status.ok()) {
    bool located = status.code() == UPD_COMPILE_ERROR;
    fmt::print(stderr, "{}{}{}", located ? "" : "error: ", status.message(),
               status.message().ends_with('\n') ? "" : "\n");
    return updraft::exitCodeOf(status.code());
  }
  fmt::print("{} step{} on {} parameter{}, written to {}\n", options.steps,
             options.steps == 1 ? "" : "s", counts.stepped, counts.stepped == 1 ? "" : "s",
             options.output);
  if (counts.leftAlone)
    fmt::print("{} without a gradient left alone\n", counts.leftAlone);
  return 0;
}
