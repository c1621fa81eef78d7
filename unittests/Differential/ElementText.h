//===- ElementText.h - Compares and prints elements of two sides --------------------*- C++ -*-===//

#ifndef UPDRAFT_UNITTESTS_DIFFERENTIAL_ELEMENTTEXT_H
#define UPDRAFT_UNITTESTS_DIFFERENTIAL_ELEMENTTEXT_H

#include "updraft/Reference/StorageFormat.h"

#include <string>

namespace updraft::differential {

/// The first element whose bits differ; all NaNs are equal.
std::optional<int64_t> firstDifference(reference::StorageFormat format, const void *compiled,
                                       const void *interpreted, int64_t count);

/// The bits and the value of an element.
std::string show(reference::StorageFormat format, const void *data, int64_t index);

} // namespace updraft::differential

#endif // UPDRAFT_UNITTESTS_DIFFERENTIAL_ELEMENTTEXT_H
