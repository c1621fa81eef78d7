//===- Recorder.h - Records changes before they are made ----------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_SERVER_RECORDER_H
#define UPDRAFT_RUNTIME_SERVER_RECORDER_H

#include "runtime/server/ChangeGate.h"
#include "runtime/server/GradientContext.h"
#include "runtime/server/Transaction.h"
#include "runtime/store/Journal.h"
#include "updraft/store/v1/journal.pb.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::server {

/// Appends records to a store's journal. Without a journal, its functions do nothing. A function is
/// called with the locks held that the change needs, so that records are in the order of changes,
/// and within a ChangeGate::Change, which ends when the change has been made. Each returns the
/// record's number for `sync`, and throws Refusal if the change can't be recorded; then it must not
/// be made. Thread-safe.
class Recorder {
public:
  /// Before other threads use it.
  void begin(store::Journal &into) { journal = &into; }
  bool isDurable() const { return journal != nullptr; }

  /// Taken after locks of parameters and optimizers, which may be held for long, and before all
  /// others.
  ChangeGate gate;

  uint64_t addClient(const std::string &name);
  uint64_t forgetClient(const std::string &name);
  uint64_t put(const std::string &name, const Tensor &tensor);
  uint64_t create(const worker::v1::CreateOptimizerRequest &request, const std::string &package);
  uint64_t remove(const std::string &optimizer);
  uint64_t set(const worker::v1::SetHyperparametersRequest &request);
  uint64_t loadStates(const std::string &optimizer, std::string_view bytes);
  uint64_t step(const std::string &optimizer, const RequestKey &request,
                const std::map<size_t, SummedGradient> &gradients);

  /// A step on several workers is ready here.
  uint64_t prepare(const Transaction &transaction,
                   const std::map<size_t, SummedGradient> &gradients);
  uint64_t decide(const Decision &decision);
  /// All workers know a decision.
  uint64_t acknowledge(const RequestKey &request);

  /// Returns once the record is on the disk. Throws OutcomeUnknown if that isn't known.
  void sync(uint64_t number);
  /// The same for all records so far.
  void syncAll();

private:
  uint64_t append(const store::v1::Record &record, const std::vector<std::string_view> &tensors);

  store::Journal *journal = nullptr; ///< null: no records
};

/// A record that was read, with the bytes of its tensors.
struct ReadRecord {
  store::v1::Record record;
  std::string_view tensors;

  /// Returns the next `bytes` bytes of the tensors, which start at a multiple of 8 bytes. Throws
  /// StoreError.
  const char *take(size_t bytes);

private:
  size_t taken = 0;
};

/// The content must outlive the result, and start at a multiple of 8 bytes. Throws StoreError.
ReadRecord readRecord(uint64_t number, std::string_view content);

} // namespace updraft::server

#endif // UPDRAFT_RUNTIME_SERVER_RECORDER_H
