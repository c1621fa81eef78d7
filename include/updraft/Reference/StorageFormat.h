//===- StorageFormat.h - Elements in memory, one at a time --------------------------*- C++ -*-===//
// How an element is read from and written to memory in each storage type. The compiler converts
// with bit tricks on vectors; here every narrow type is the textbook formula, so that the two can
// be compared.

#ifndef UPDRAFT_REFERENCE_STORAGEFORMAT_H
#define UPDRAFT_REFERENCE_STORAGEFORMAT_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace updraft::reference {

enum class StorageFormat : uint8_t { F32, F64, BF16, F16 };

/// The format of a storage type; nothing for any other type.
std::optional<StorageFormat> storageFormat(mlir::Type type);

/// Bytes of one element.
unsigned elementSize(StorageFormat format);

/// The value of element `index`. Every value of every format is a double. `data` needs no
/// alignment.
double loadElement(StorageFormat format, const void *data, int64_t index);

/// Writes `value`, rounded once to the nearest value of the format, ties to even; NaN stays NaN,
/// what is too large becomes infinity. `data` needs no alignment.
void storeElement(StorageFormat format, void *data, int64_t index, double value);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_STORAGEFORMAT_H
