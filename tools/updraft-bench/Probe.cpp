//===- Probe.cpp - Measurements in fresh processes --------------------------------------------===//

#include "Probe.h"

#include <cstdio>
#include <stdexcept>

std::vector<double> updraft::bench::probe(const std::string &command, size_t count) {
  FILE *pipe = ::popen(command.c_str(), "r");
  std::vector<double> numbers(count);
  bool read = pipe != nullptr;
  for (double &number : numbers)
    read = read && std::fscanf(pipe, "%lf", &number) == 1;
  if (!pipe || ::pclose(pipe) != 0 || !read)
    throw std::runtime_error("the measuring process failed: " + command);
  return numbers;
}
