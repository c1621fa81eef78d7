//===- Probes.cpp - updraft-c/probes.h --------------------------------------------------------===//

#include "updraft-c/probes.h"

#include "runtime/capi/Report.h"

#include <algorithm>
#include <array>

using namespace updraft;
using capi::nullArgument;
using capi::query;
using capi::report;

upd_status upd_optimizer_set_probe_every(upd_optimizer *optimizer, uint64_t every) {
  return query(optimizer, "optimizer", optimizer, [&](runtime::Optimizer &o) {
    o.setProbeEvery(every);
    return runtime::Status();
  });
}

upd_status upd_optimizer_get_probe_every(const upd_optimizer *optimizer, uint64_t *every) {
  return query(optimizer, "every, where the result goes,", every, [&](const runtime::Optimizer &o) {
    *every = o.getProbeEvery();
    return runtime::Status();
  });
}

size_t upd_optimizer_probe_count(const upd_optimizer *optimizer) {
  return optimizer ? optimizer->optimizer->probeRing().probes() : 0;
}

upd_status upd_optimizer_read_probes(const upd_optimizer *optimizer, uint64_t *cursor,
                                     upd_probe_row *rows, double *values, size_t capacity,
                                     size_t *count, uint64_t *lost) {
  return report([&] {
    if (!optimizer)
      return nullArgument("optimizer");
    if (!cursor || !count)
      return nullArgument("cursor or count");
    const runtime::ProbeRing &ring = optimizer->optimizer->probeRing();
    if (capacity != 0 && ring.probes() != 0 && (!rows || !values))
      return nullArgument("rows or values, where the result goes,");
    std::array<runtime::ProbeRing::Row, 64> some;
    *count = 0;
    uint64_t missed = 0;
    for (bool more = true; more && *count < capacity;) {
      const std::span part(some.data(), std::min(capacity - *count, some.size()));
      const auto [read, lostHere] = ring.read(*cursor, part, values + *count * ring.probes());
      for (const runtime::ProbeRing::Row &row : part.first(read))
        rows[(*count)++] = {row.step, row.param, 0};
      missed += lostHere;
      more = read != 0;
    }
    if (lost)
      *lost = missed;
    return runtime::Status();
  });
}
