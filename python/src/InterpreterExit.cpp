//===- InterpreterExit.cpp - Threads that Python ends in a call -----------------------------===//

#include "InterpreterExit.h"

#include <unistd.h>

void updraft::python::waitForExit() noexcept {
  for (;;)
    pause();
}
