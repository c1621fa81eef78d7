// Precompiled header of unit tests without MLIR. Sources still include what they use.
#pragma once

#include "text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
