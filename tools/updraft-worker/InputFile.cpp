//===- InputFile.cpp - The files that options name --------------------------------------------===//

#include "InputFile.h"

#include "runtime/files/FileContent.h"

#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

std::string updraft::worker::readInput(const std::string &path) {
  constexpr size_t mostBytes = size_t(16) << 20;
  std::string content;
  if (const int error = files::readFile(path, mostBytes, content))
    throw std::runtime_error(fmt::format("cannot read `{}`: {}", path, std::strerror(error)));
  return content;
}
