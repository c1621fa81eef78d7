//===- StorageTypes.h - The conversion of each storage type ------------------*- C++ -*-===//
// One function per storage type; `StorageConversion::find` is the way in.

#ifndef UPDRAFT_LIB_CONVERSION_STORAGETYPES_H
#define UPDRAFT_LIB_CONVERSION_STORAGETYPES_H

#include "updraft/Conversion/StorageConversion.h"

namespace updraft {

const StorageConversion *f32Storage();
const StorageConversion *f64Storage();
const StorageConversion *bf16Storage();
const StorageConversion *f16Storage();

} // namespace updraft

#endif // UPDRAFT_LIB_CONVERSION_STORAGETYPES_H
