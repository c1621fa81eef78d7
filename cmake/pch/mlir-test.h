// Precompiled header of unit tests with MLIR. Sources still include what they use.
#pragma once

#include "mlir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
