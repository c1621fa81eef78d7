// Precompiled header of targets without MLIR whose sources read options or JSON and write text: what
// takes long to compile. Sources still include what they use.
#pragma once

#if __has_include(<CLI/CLI.hpp>) // which only the programs need
#include <CLI/CLI.hpp>
#endif
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
