//===- StoreFuzzer.cpp - Stores of a parameter server, damaged --------------------------------===//
// A server either restores a store, and then can write a snapshot and restore that, too; or it
// refuses the store with a reason. The first byte of the input chooses the file that it replaces.

#include "../Store/ReadFile.h"
#include "FuzzTarget.h"

#include "runtime/server/Refusal.h"
#include "runtime/server/Server.h"
#include "runtime/store/Checksum.h"
#include "runtime/store/ScratchDisk.h"
#include "runtime/store/StoreError.h"
#include "tools/updraft-worker/RuleSource.h"

#include <chrono>
#include <cstring>
#include <map>
#include <memory>

using namespace updraft;
using namespace updraft::fuzz;
using server::Durability;
using server::Server;
using store::Disk;
using store::ScratchDisk;
using store::Store;

namespace {

constexpr uint64_t storeNumber = 99;
constexpr const char *segment = "journal-00000000000000000001";

enum Replaced : unsigned char { Segment, Record, Catalog, Parameters, States, kinds };

using Files = std::map<std::string, std::string>;

std::unique_ptr<Disk> diskOf(const Files &files) {
  auto disk = std::make_unique<ScratchDisk>();
  for (const auto &[name, content] : files)
    disk->open(name, Disk::Opening::OrCreate)->write(0, {content});
  return disk;
}

Files filesOf(Disk &disk) {
  Files result;
  for (const std::string &name : disk.list())
    result.emplace(name, readFile(disk, name));
  return result;
}

server::Limits limits() {
  server::Limits result;
  result.tensorBytes = size_t(64) << 20;
  result.patience = {};
  return result;
}

server::Tensor vectorOf(Server &server) {
  server::Tensor result(UPD_F32, {4}, server.budget(), "a tensor");
  const float values[] = {1, 2, 3, 4};
  std::memcpy(result.data(), values, sizeof(values));
  return result;
}

void change(Server &server) {
  server.registerClient("a");
  server.put("w", vectorOf(server));
  worker::v1::CreateOptimizerRequest request;
  request.set_optimizer("o");
  request.mutable_rule()->set_source(
      "rule R(lr = 1) { state m = 0 update(param, grad) { next m = m + "
      "grad next param = param - lr * m } }");
  request.add_groups()->add_parameters("w");
  server.createOptimizer(request);
  for (uint64_t step = 1; step <= 3; ++step) {
    server.openContext("o", step, "a");
    std::vector<server::Gradient> gradients;
    gradients.push_back({0, std::nullopt, vectorOf(server)});
    server.push("o", step, {"a", 2 * step}, std::move(gradients));
    server.step("o", step, {"a", 2 * step + 1});
  }
}

/// A store with a journal alone, or with a snapshot.
Files make(bool hasSnapshot) {
  auto owned = std::make_unique<ScratchDisk>();
  ScratchDisk &disk = *owned;
  Store store(std::move(owned), storeNumber);
  Server server(limits(), worker::packSource, std::chrono::steady_clock::now, Durability::Step,
                &store);
  change(server);
  if (hasSnapshot)
    server.takeSnapshot();
  return filesOf(disk);
}

const Files &base(bool hasSnapshot) {
  static const Files journal = make(false), snapshot = make(true);
  return hasSnapshot ? snapshot : journal;
}

/// The files with one that the input replaces.
Files filesOf(Replaced kind, std::string_view input) {
  Files files = base(kind == Parameters || kind == States);
  switch (kind) {
  case Segment:
    files[segment] = input;
    break;
  case Record: {
    auto owned = diskOf(files);
    Disk &disk = *owned;
    Store store(std::move(owned), storeNumber);
    store.replay([](uint64_t, std::string_view) {});
    store.journal().append({input});
    return filesOf(disk);
  }
  case Catalog:
    files["catalog.sqlite"] = input;
    break;
  case Parameters:
  case States: {
    auto owned = diskOf(files);
    Disk &disk = *owned;
    Store store(std::move(owned), storeNumber);
    store.replay([](uint64_t, std::string_view) {});
    store::SnapshotContent content{store.snapshot(), "", {""}};
    content.parameters =
        kind == Parameters ? std::string(input) : readFile(disk, store.snapshot().parameters.name);
    content.states[0] = kind == States ? std::string(input)
                                       : readFile(disk, store.snapshot().optimizers[0].states.name);
    store.save(std::move(content));
    return filesOf(disk);
  }
  case kinds:
    break;
  }
  return files;
}

/// Restores a store and writes a snapshot. Returns its files.
Files restored(const Files &files) {
  auto owned = diskOf(files);
  Disk &disk = *owned;
  Store store(std::move(owned), storeNumber);
  Server server(limits(), worker::packSource, std::chrono::steady_clock::now, Durability::Step,
                &store);
  server.takeSnapshot();
  return filesOf(disk);
}

void run(std::string_view input) {
  if (input.empty())
    return;
  const auto kind = static_cast<Replaced>(static_cast<unsigned char>(input[0]) % kinds);
  Files files;
  try {
    files = restored(filesOf(kind, input.substr(1)));
  } catch (const store::StoreError &error) {
    if (std::string_view(error.what()).empty())
      finding("a refusal without its reason");
    return;
  } catch (const server::Refusal &refusal) {
    if (refusal.reason() != server::Reason::ResourceExhausted) // for the copy of a snapshot
      finding(std::string("another refusal: ") + refusal.what());
    return;
  }
  try {
    restored(files);
  } catch (const std::exception &error) {
    finding(std::string("a snapshot can't be restored: ") + error.what());
  }
}

std::vector<Seed> seeds() {
  const auto of = [](Replaced kind, const std::string &content) {
    return std::string(1, static_cast<char>(kind)) + content;
  };
  std::vector<Seed> result = {{"segment", of(Segment, base(false).at(segment))},
                              {"catalog", of(Catalog, base(false).at("catalog.sqlite"))}};
  for (const auto &[name, content] : base(true))
    if (name.ends_with("parameters.safetensors"))
      result.push_back({"parameters", of(Parameters, content)});
    else if (name.find("states") != std::string::npos)
      result.push_back({"states", of(States, content)});
  // The contents of the records, without their headers.
  auto disk = diskOf(base(false));
  const store::Journal journal(*disk, storeNumber, 0, [&](uint64_t number, std::string_view text) {
    result.push_back({"record-" + std::to_string(number), of(Record, std::string(text))});
  });
  return result;
}

} // namespace

const FuzzTarget updraft::fuzz::storeTarget = {"store", run, seeds, nullptr};
