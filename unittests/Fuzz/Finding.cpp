//===- Finding.cpp - Reports a finding of a fuzz target ---------------------------------------===//

#include "FuzzTarget.h"

#include <cstdio>
#include <cstdlib>

void updraft::fuzz::finding(const std::string &what) {
  std::fflush(stdout);
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}
