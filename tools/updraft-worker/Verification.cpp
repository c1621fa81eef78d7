//===- Verification.cpp - Checks a store ------------------------------------------------------===//

#include "Verification.h"

#include "runtime/server/Refusal.h"
#include "runtime/server/Server.h"
#include "runtime/store/FolderDisk.h"
#include "runtime/store/ScratchDisk.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <utility>

using namespace updraft;

void worker::verifyStore(const std::string &folder) {
  if (!std::filesystem::exists(std::filesystem::path(folder) / store::Catalog::fileName))
    throw std::runtime_error(
        fmt::format("`{}` is not a store: it has no file `{}`", folder, store::Catalog::fileName));
  auto disk = std::make_unique<store::ScratchDisk>(std::make_unique<store::FolderDisk>(folder));
  store::Store store(std::move(disk), 0);
  const store::Snapshot snapshot = store.snapshot();
  server::Limits limits;
  limits.tensorBytes = SIZE_MAX;
  limits.clients.clients = SIZE_MAX;
  const server::Server server(
      limits,
      [](const v1::Rule &) -> std::string {
        throw server::Refusal(server::Reason::Internal, "a store has packages");
      },
      std::chrono::steady_clock::now, server::Durability::Step, &store);
  const server::Statistics found = server.statistics();
  fmt::print("snapshot {}, and {} records of the journal after it\n", snapshot.number,
             store.journal().last() - snapshot.record);
  fmt::print("{} parameters of {} bytes, {} optimizers, {} clients, {} answers\n", found.parameters,
             found.tensorBytes, found.optimizers, found.clients, found.rememberedAnswers);
  if (found.undecidedSteps != 0)
    fmt::print("{} steps of several workers are not decided\n", found.undecidedSteps);
  fmt::print("the store is whole\n");
}
