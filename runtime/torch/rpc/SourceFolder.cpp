//===- SourceFolder.cpp - Imported files during a compilation ---------------------------------===//

#include "runtime/torch/rpc/SourceFolder.h"

#include "runtime/files/FileReplacement.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <stdlib.h>

using namespace updraft::torch_adapter;

static bool isPlainName(const std::string &name) {
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

SourceFolder::SourceFolder(const std::vector<std::pair<std::string, std::string>> &files) {
  for (const auto &[name, text] : files)
    TORCH_CHECK_VALUE(isPlainName(name), "a request has a file `", name,
                      "`; names are of letters, digits, `_`, `-` and `.`");
  std::string pattern = (std::filesystem::temp_directory_path() / "updraft-rules-XXXXXX").string();
  TORCH_CHECK(mkdtemp(pattern.data()), "no folder can be made for the files of a rule as ",
              pattern);
  path = pattern;
  for (const auto &[name, text] : files) {
    const files::Failure failure =
        files::writeFile(pathOf(name), text, files::OtherNames::KeepOld, files::Synced::No);
    if (failure) {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
      TORCH_CHECK(false, "cannot write the file `", name, "` of a rule: ", *failure,
                  "; TMPDIR names the folder for it");
    }
  }
}

SourceFolder::~SourceFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string SourceFolder::withoutFolder(std::string text) const {
  const std::string prefix = path + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
  return text;
}
