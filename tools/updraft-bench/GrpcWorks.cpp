//===- GrpcWorks.cpp - Benchmarks of the gRPC parameter server --------------------------------===//
// A process of updraft-worker and clients of this process, over loopback. Baselines are taken in
// turns with them: a local step, a plain call, a plain stream of bytes, a plain file. The bounds
// are those of docs/performance.md.

#include "ListeningProcess.h"
#include "PlainStep.h"
#include "PlainStream.h"
#include "Stepper.h"
#include "Work.h"
#include "runtime/messages/TensorMessages.h"
#include "tools/harness/TemporaryFolder.h"
#include "updraft/dist/Client.h"
#include "updraft/worker/v1/worker.grpc.pb.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::bench;
using std::chrono::steady_clock;

namespace {

double secondsSince(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// A worker on a free port.
ListeningProcess startWorker(const std::vector<std::string> &options = {}) {
  std::vector<std::string> command = {UPDRAFT_BENCH_WORKER, "--listen=127.0.0.1:0",
                                      "--log=warning"};
  command.insert(command.end(), options.begin(), options.end());
  return ListeningProcess(command);
}

/// A client with an optimizer of Adagrad. Parameters of different names belong to different ones.
class Trainer {
public:
  Trainer(const std::string &address, const BenchOptions &options, const std::string &name,
          int64_t tensors, int64_t elements, const TLSFolder &tls = {})
      : client({.workers = {address},
                .name = {},
                .rootCertificates = tls.read("ca.pem"),
                .certificate = tls.read("cert.pem"),
                .key = tls.read("key.pem"),
                .token = {}}),
        values(static_cast<size_t>(tensors * elements), 1e-2F) {
    std::map<std::string, TensorView> parameters;
    dist::ParameterGroup group;
    for (int64_t i = 0; i < tensors; ++i) {
      const std::string parameter = fmt::format("{}-{}", name, i);
      const TensorView view(values.data() + i * elements, {elements});
      parameters.emplace(parameter, view);
      gradients.emplace(parameter, view);
      group.parameters.push_back(parameter);
    }
    client.put(parameters);
    std::stringstream text;
    text << std::ifstream(options.rulesDir + "/adagrad.upd").rdbuf();
    optimizer.emplace(client.createOptimizer(
        name, {.source = text.str(), .numerics = options.numerics}, {group}));
  }

  /// Pushes all gradients into a new context and returns the seconds of that.
  double push() {
    context.reset(); // frees the gradients of the one before
    context.emplace(optimizer->openContext());
    const auto start = steady_clock::now();
    context->push(gradients);
    return secondsSince(start);
  }
  /// Steps with the gradients that were pushed. A context can be stepped repeatedly.
  void step() { context->step(); }

  const char *data() const { return reinterpret_cast<const char *>(values.data()); }
  size_t bytes() const { return values.size() * sizeof(float); }

private:
  dist::Client client;
  std::vector<float> values;
  std::map<std::string, dist::Gradient> gradients;
  std::optional<dist::Optimizer> optimizer;
  std::optional<dist::Context> context;
};

/// Bounds hold for the sizes in the works' names.
std::optional<double> boundOf(const BenchOptions &options, double bound) {
  return options.quick ? std::nullopt : std::optional(bound);
}

//===----------------------------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------------------------===//

StepSetup setupOf(const std::string &rule, const std::string &numerics, int64_t tensors,
                  int64_t elements) {
  return {.rule = {.file = rule, .numerics = numerics}, .tensors = tensors, .elements = elements};
}

std::vector<Row> runStep(const BenchOptions &options, const std::string &work) {
  const int64_t tensors = options.quick ? 4 : 50;
  const int64_t elements = options.quick ? 2000 : 10'000;
  const ListeningProcess process = startWorker();
  Trainer trainer(process.address(), options, "step", tensors, elements);
  trainer.push();
  const std::string rule = options.rulesDir + "/adagrad.upd";
  Stepper local(setupOf(rule, options.numerics, tensors, elements));
  const ListeningProcess plainProcess({options.self, "--plain-step", rule, options.numerics,
                                       std::to_string(tensors), std::to_string(elements)});
  PlainStep plain(plainProcess.address());
  std::vector<Row> rows = race(work,
                               {timed("updraft", "f32", [&] { trainer.step(); }),
                                timed("local step", "f32", [&] { local.step(); }),
                                timed("plain call", "f32", [&] { plain.step(); })},
                               options.quick ? 3 : 81, options.quick ? 1e-4 : 2e-2);
  std::vector<double> differences;
  for (size_t round = 0; round < rows[0].roundsMs.size(); ++round)
    differences.push_back(rows[0].roundsMs[round] - rows[1].roundsMs[round]);
  rows[0].figure = {"ms more than the local step", harness::median(differences),
                    boundOf(options, 0.2), /*atLeast=*/false};
  return rows;
}

//===----------------------------------------------------------------------------------------===//
// A push
//===----------------------------------------------------------------------------------------===//

std::vector<Row> runPush(const BenchOptions &options, const std::string &work, bool isWithTLS,
                         double shareOfPlain) {
  const int64_t tensors = options.quick ? 2 : 50;
  const int64_t elements = options.quick ? 300'000 : 1'000'000;
  const harness::TemporaryFolder folder;
  TLSFolder tls;
  std::vector<std::string> workerOptions;
  if (isWithTLS) {
    tls.path = folder.path();
    makeCertificates(tls);
    workerOptions = {"--tls-cert=" + tls.file("cert.pem"), "--tls-key=" + tls.file("key.pem"),
                     "--tls-client-ca=" + tls.file("ca.pem")};
  }
  std::vector<double> firsts;
  for (int i = 0; i < (options.quick ? 1 : 5); ++i) {
    const ListeningProcess fresh = startWorker(workerOptions);
    Trainer trainer(fresh.address(), options, "push", tensors, elements, tls);
    firsts.push_back(trainer.push() * 1e3);
  }
  const ListeningProcess process = startWorker(workerOptions);
  Trainer trainer(process.address(), options, "push", tensors, elements, tls);
  const ListeningProcess plainProcess(
      {options.self, "--plain-stream", std::to_string(trainer.bytes()), tls.path});
  PlainStream plain(plainProcess.address(), tls);
  const auto push = [&](int count) {
    double seconds = 0;
    for (int i = 0; i < count; ++i)
      seconds += trainer.push(); // without freeing the context before
    return seconds / count;
  };
  const auto send = [&] { plain.send(trainer.data(), trainer.bytes(), messages::chunkBytes); };
  std::vector<Row> rows = race(work, {{"updraft", "f32", push}, timed("plain stream", "", send)},
                               options.quick ? 3 : 21);
  rows[0].figure = {"x as fast as the plain stream", timesAsLong(rows[1], rows[0]),
                    boundOf(options, shareOfPlain)};
  rows.insert(rows.begin() + 1, rowOf(work, "first context", "f32", std::move(firsts)));
  return rows;
}

//===----------------------------------------------------------------------------------------===//
// Durable steps
//===----------------------------------------------------------------------------------------===//

uint64_t journalBytes(const ListeningProcess &process) {
  const auto stub = worker::v1::Worker::NewStub(
      grpc::CreateChannel(process.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  worker::v1::GetStatisticsResponse response;
  if (const grpc::Status status = stub->GetStatistics(&context, {}, &response); !status.ok())
    throw std::runtime_error(status.error_message());
  return response.journal_bytes();
}

/// A file that grows by synced writes, as a journal does.
class SyncedFile {
public:
  explicit SyncedFile(const std::string &path)
      : descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (descriptor < 0)
      throw std::runtime_error(fmt::format("cannot create `{}`", path));
  }
  ~SyncedFile() { ::close(descriptor); }
  SyncedFile(const SyncedFile &) = delete;
  SyncedFile &operator=(const SyncedFile &) = delete;

  void write(const std::string &bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
      if (count < 0)
        throw std::runtime_error("cannot write a file; is the disk full?");
      done += static_cast<size_t>(count);
    }
    if (::fdatasync(descriptor) != 0)
      throw std::runtime_error("cannot sync a file");
  }

private:
  const int descriptor;
};

std::vector<Row> runDurable(const BenchOptions &options, const std::string &work) {
  const int64_t tensors = options.quick ? 4 : 50;
  const int64_t elements = options.quick ? 2000 : 10'000;
  constexpr int clients = 8;
  /// Of each client in a turn, so that clients are at different places of their steps.
  constexpr int steps = 2;
  const harness::TemporaryFolder folder;
  const ListeningProcess process = startWorker({"--store=" + folder.path() + "/store"});
  std::deque<Trainer> trainers;
  for (int i = 0; i < clients; ++i) {
    trainers.emplace_back(process.address(), options, fmt::format("client-{}", i), tensors,
                          elements);
    trainers.back().push();
  }
  const uint64_t before = journalBytes(process);
  trainers.front().step();
  const std::string record(journalBytes(process) - before, 'x');

  const auto stepAll = [&](int count) {
    const auto start = steady_clock::now();
    std::vector<std::future<void>> threads;
    for (Trainer &trainer : trainers)
      threads.push_back(std::async(std::launch::async, [&trainer, count] {
        for (int i = 0; i < steps * count; ++i)
          trainer.step();
      }));
    for (std::future<void> &thread : threads)
      thread.get();
    return secondsSince(start) / (clients * steps * count);
  };
  const auto write = [&](int count) {
    SyncedFile file(folder.path() + "/plain");
    const auto start = steady_clock::now();
    for (int i = 0; i < clients * steps * count; ++i)
      file.write(record);
    return secondsSince(start) / (clients * steps * count);
  };
  // So few rounds that the journal stays shorter than what makes it a snapshot.
  std::vector<Row> rows = race(work, {{"updraft", "f32", stepAll}, {"plain file", "", write}},
                               options.quick ? 3 : 25, /*minSeconds=*/1e-5);
  rows[0].figure = {"x as many a second as writes of the plain file", timesAsLong(rows[1], rows[0]),
                    boundOf(options, 0.5)};
  return rows;
}
} // namespace

std::vector<Work> updraft::bench::grpcWorks() {
  const std::string group = "grpc";
  const auto work = [&](const std::string &name, const std::string &description, auto run) {
    return Work{name, description,
                [name, run](const BenchOptions &options) { return run(options, name); }, group};
  };
  return {work("grpc-step-50x10k", "a step of Adagrad on updraft-worker, 50 x 10000 f32", runStep),
          work("grpc-push-200MB", "a push of 50 gradients of 1 M f32 to updraft-worker",
               [](const BenchOptions &options, const std::string &name) {
                 return runPush(options, name, /*isWithTLS=*/false, 0.9);
               }),
          work("grpc-push-tls-200MB", "the same with mutual TLS",
               [](const BenchOptions &options, const std::string &name) {
                 return runPush(options, name, /*isWithTLS=*/true, 0.8);
               }),
          work("grpc-durable-50x10k",
               "synced steps of 8 clients, each with 50 x 10000 f32 of its own", runDurable)};
}

int updraft::bench::plainStepProbe(const std::vector<std::string> &arguments) {
  return plainStepServer(setupOf(arguments.at(0), arguments.at(1), std::stoll(arguments.at(2)),
                                 std::stoll(arguments.at(3))));
}

int updraft::bench::plainStreamProbe(const std::vector<std::string> &arguments) {
  return plainStreamServer(std::stoull(arguments.at(0)), {arguments.at(1)});
}
