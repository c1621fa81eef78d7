//===- CompiledRule.cpp - Compiles a rule that arrived as text --------------------------------===//

#include "runtime/torch/rpc/CompiledRule.h"

#include "runtime/base/DType.h"
#include "runtime/dist/ImportedNames.h"
#include "runtime/torch/Library.h"
#include "runtime/torch/rpc/PackagePolicy.h"
#include "runtime/torch/rpc/SourceFolder.h"
#include "updraft-c/package_format.h"

#include <algorithm>

using namespace updraft::torch_adapter;
namespace runtime = updraft::runtime;

void ReleaseRule::operator()(upd_rule *rule) const { Library::get().upd_rule_release(rule); }

/// Refuses imports of files that were not sent with the rule, because they would be read from this
/// worker's disk.
static void requireSent(const RuleChoices &choices, const std::string &text) {
  for (const std::string &name : updraft::dist::importedNames(text)) {
    const bool isSent = std::any_of(choices.files.begin(), choices.files.end(),
                                    [&](const auto &file) { return file.first == name; });
    TORCH_CHECK_VALUE(isSent, "cannot read `", name, "`: it did not come with the rule");
  }
}

RulePointer updraft::torch_adapter::compileRule(const RuleChoices &choices,
                                                const std::string &source, const Settings &settings,
                                                upd_dtype dtype) {
  std::vector<upd_setting> given;
  for (const auto &[name, value] : settings)
    given.push_back({name.c_str(), value.c_str()});
  const char *const stored = runtime::nameOf(dtype).data();
  std::vector<upd_storage> storage{{"param", stored}, {"grad", stored}};
  for (const auto &[name, type] : choices.storage)
    if (name != "param")
      storage.push_back({name.c_str(), type.c_str()});
    else if (dtype == UPD_BF16 || !type.starts_with("bf16_"))
      storage.front().type = type.c_str();

  requireSent(choices, source);
  for (const auto &[name, text] : choices.files)
    requireSent(choices, text);

  upd_compile_options options{};
  options.struct_size = sizeof(options);
  options.rule = choices.rule.empty() ? nullptr : choices.rule.c_str();
  options.settings = given.data();
  options.setting_count = given.size();
  options.storage = storage.data();
  options.storage_count = storage.size();
  options.numerics = choices.numerics.empty() ? nullptr : choices.numerics.c_str();
  upd_rule *rule = nullptr;
  if (!choices.package.empty()) {
    const std::string &bytes = choices.package;
    PackagePolicy::process().require(bytes, choices.filename);
    check(Library::get().upd_compile(bytes.data(), bytes.size(), choices.filename.c_str(), &options,
                                     &rule));
    return RulePointer(rule);
  }
  // upd_compile takes packages, too. They come only by `package`, past the policy.
  constexpr std::string_view magic(UPD_PACKAGE_MAGIC, sizeof(UPD_PACKAGE_MAGIC));
  TORCH_CHECK_VALUE(!source.starts_with(magic), "the text of rule `", choices.filename,
                    "` is a package");
  const char *const here = __func__;
  auto compile = [&](const std::string &filename) {
    const Library &library = Library::get();
    const upd_status status =
        library.upd_compile(source.data(), source.size(), filename.c_str(), &options, &rule);
    if (status == UPD_COMPILE_ERROR)
      throw CompileError({here, __FILE__, __LINE__}, library.upd_last_error());
    check(status);
  };
  if (choices.files.empty()) {
    compile(choices.filename);
    return RulePointer(rule);
  }
  const SourceFolder folder(choices.files);
  try {
    compile(folder.pathOf(choices.filename.substr(choices.filename.rfind('/') + 1)));
  } catch (const CompileError &error) {
    throw CompileError({__func__, __FILE__, __LINE__},
                       folder.withoutFolder(error.what_without_backtrace()));
  }
  return RulePointer(rule);
}

bool updraft::torch_adapter::dependsOnGroup(const upd_rule *rule) {
  return Library::get().upd_rule_depends_on(rule) == UPD_EXTENT_GROUP;
}

void updraft::torch_adapter::requirePairs(const upd_rule *rule) {
  const Library &library = Library::get();
  TORCH_CHECK_NOT_IMPLEMENTED(!library.upd_rule_uses_rows(rule), "the rule `",
                              library.upd_rule_name(rule),
                              "` depends on rows, columns or batches, which complex parameters "
                              "don't have: they are stepped as pairs of numbers");
  for (size_t i = 0, count = library.upd_rule_state_count(rule); i < count; ++i) {
    const upd_dtype dtype = library.upd_rule_state_dtype(rule, i);
    const bool hasComplexType = dtype == UPD_F32 || dtype == UPD_F64 || dtype == UPD_F16;
    TORCH_CHECK_VALUE(
        hasComplexType || library.upd_rule_state_extent(rule, i) != UPD_EXTENT_ELEMENT,
        "expected f32, f64 or f16 for the state `", library.upd_rule_state_name(rule, i),
        "` of complex parameters, got ", runtime::nameOf(dtype));
  }
}
