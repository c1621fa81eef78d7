//===- StorageFormat.h - Elements in memory, one at a time --------------------------*- C++ -*-===//
// Reads and writes one element in each storage type. The compiler converts vectors with bit tricks;
// here every narrow type uses the textbook formula, so that tests can compare the two.

#ifndef UPDRAFT_REFERENCE_STORAGEFORMAT_H
#define UPDRAFT_REFERENCE_STORAGEFORMAT_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace updraft::reference {

enum class StorageFormat : uint8_t { F32, F64, BF16, F16, I8, Q8Linear, Q8Companded };

/// Returns the format of a storage type; nothing for any other type.
std::optional<StorageFormat> storageFormat(mlir::Type type);

/// The size of one element in bytes, without the scale of its block.
unsigned elementSize(StorageFormat format);

/// Returns the value of element `index`. Not for block formats; see BlockedFormat.h. Every value of
/// every format is a double. `data` needs no alignment.
double loadElement(StorageFormat format, const void *data, int64_t index);

/// Writes `value`, rounded once to the nearest value of the format, ties to even. NaN stays NaN,
/// and values out of range become infinity. `data` needs no alignment.
void storeElement(StorageFormat format, void *data, int64_t index, double value);

/// How values are converted to elements.
enum class Rounding : uint8_t {
  Nearest,    // as in `storeElement`
  Stochastic, // BF16, to one of the two neighbours
  Corrected,  // BF16, plus an I8 that holds 8 more bits
};

/// Rounds `value` to f32, then to one of its two BF16 neighbours. Takes the neighbour further from
/// zero if the distance from the other, in 65536ths of their gap, plus `random` is at least 65536.
/// NaN and infinities don't change.
double roundStochastically(double value, uint16_t random);

/// A value's element and its correction.
struct Corrected {
  double upper;   // a value of BF16
  int correction; // from -128 to 127
};

/// Splits `value` after rounding it to f32 and then to 16 bits after its leading one, each to
/// nearest even. The upper part is the nearest BF16, ties away from zero. It may be infinite even
/// if the value is finite.
Corrected splitCorrected(double value);

/// Returns the value of both parts. A correction never changes the sign of the upper part.
double combineCorrected(Corrected parts);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_STORAGEFORMAT_H
