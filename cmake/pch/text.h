// Precompiled header of targets without MLIR whose sources read or write JSON and text: what takes
// long to compile. Sources still include what they use.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
