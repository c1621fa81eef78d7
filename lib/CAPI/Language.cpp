//===- Language.cpp - updraft-c/language.h ----------------------------------------------------===//

#include "updraft-c/language.h"

#include "runtime/capi/LastError.h"
#include "runtime/capi/OwnedText.h"
#include "updraft/Frontend/Format.h"
#include "updraft/Frontend/Functions.h"
#include "updraft/Frontend/Parser.h"

#include <algorithm>
#include <string>

using namespace updraft;
using capi::fail;
using capi::guarded;

namespace {
// Copies of the names that end with a null character, unlike the compiler's own.
struct Names {
  Names() {
    for (const KnownFunction &function : knownFunctions())
      functions.emplace_back(function.name.str(), function.arity);
    for (llvm::StringRef name : knownTransforms())
      transforms.push_back(name.str());
  }
  std::vector<std::pair<std::string, size_t>> functions;
  std::vector<std::string> transforms;
};

const Names &names() {
  static const Names all;
  return all;
}
} // namespace

size_t upd_function_count(void) { return names().functions.size(); }
const char *upd_function_name(size_t index) {
  return index < upd_function_count() ? names().functions[index].first.c_str() : nullptr;
}
size_t upd_function_arity(size_t index) {
  return index < upd_function_count() ? names().functions[index].second : 0;
}

size_t upd_transform_count(void) { return names().transforms.size(); }
const char *upd_transform_name(size_t index) {
  return index < upd_transform_count() ? names().transforms[index].c_str() : nullptr;
}

size_t upd_storage_type_count(void) { return storageTypeNames().size(); }
const char *upd_storage_type_name(size_t index) {
  return index < upd_storage_type_count() ? storageTypeNames()[index].data() : nullptr;
}

upd_status upd_format(const char *source, size_t length, const char *filename, char **formatted) {
  return guarded([&] {
    if (!source || !formatted)
      return fail(UPD_INVALID_ARGUMENT, "source, or formatted, where the result goes, is null");
    *formatted = nullptr;
    DiagnosticEngine diagnostics;
    std::optional<std::string> text =
        formatSource(llvm::StringRef(source, std::min<size_t>(length, maxFileSize + 1)),
                     filename ? filename : "<rule>", diagnostics);
    if (!text && diagnostics.hasErrors())
      return fail(UPD_COMPILE_ERROR, diagnostics.render());
    if (!text)
      return fail(UPD_INTERNAL_ERROR, "the formatted text would say something else; this is a "
                                      "defect of Updraft, please report it");
    return capi::giveText(*text, formatted);
  });
}
