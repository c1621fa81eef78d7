//===- Environment.cpp - The library's environment, in Python ---------------------------------===//

#include "Environment.h"

#include "Status.h"
#include "updraft-c/compiler.h"
#include "updraft-c/environment.h"

#include <memory>

std::string updraft::python::environment() {
  char *text = nullptr;
  check(upd_environment(&text));
  std::unique_ptr<char, decltype(&upd_string_release)> owned(text, upd_string_release);
  return owned.get();
}
