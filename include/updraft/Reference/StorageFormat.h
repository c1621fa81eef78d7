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

enum class StorageFormat : uint8_t { F32, F64, BF16, F16, I8, Q8Linear, Q8Companded };

/// The format of a storage type; nothing for any other type.
std::optional<StorageFormat> storageFormat(mlir::Type type);

/// Bytes of one element; without the scale of its block.
unsigned elementSize(StorageFormat format);

/// The value of element `index`; not of blocks, which BlockedFormat.h is about. Every value of
/// every format is a double. `data` needs no alignment.
double loadElement(StorageFormat format, const void *data, int64_t index);

/// Writes `value`, rounded once to the nearest value of the format, ties to even; NaN stays NaN,
/// what is too large becomes infinity. `data` needs no alignment.
void storeElement(StorageFormat format, void *data, int64_t index, double value);

/// How values become elements.
enum class Rounding : uint8_t {
  Nearest,    // as `storeElement` does it
  Stochastic, // BF16, to one of the two neighbours
  Corrected,  // BF16, with an I8 beside it that has 8 bits more
};

/// `value`, rounded to f32, then to one of its neighbours in BF16: to the one further from zero if
/// its distance from the other, in 65536ths of that between the two, and `random` are together at
/// least 65536. NaN and infinities stay.
double roundStochastically(double value, uint16_t random);

/// The elements of a value with a correction.
struct Corrected {
  double upper;   // a value of BF16
  int correction; // from -128 to 127
};

/// Splits `value`, rounded to f32 and to 16 bits after its leading one, each to nearest even. The
/// upper part is the nearest one, ties away from zero. It may be infinite where the value is not.
Corrected splitCorrected(double value);

/// The value of both parts. No correction takes an upper part beyond zero.
double combineCorrected(Corrected parts);

} // namespace updraft::reference

#endif // UPDRAFT_REFERENCE_STORAGEFORMAT_H
