//===- Metrics.cpp - A worker's metrics for Prometheus ----------------------------------------===//

#include "Metrics.h"

#include "updraft/worker/v1/worker.grpc.pb.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <google/protobuf/descriptor.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace updraft;
using namespace updraft::worker;
namespace experimental = grpc::experimental;

/// In seconds.
static const prometheus::Histogram::BucketBoundaries boundaries = {
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};

static constexpr std::array<const char *, 17> codes = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

/// Prometheus keeps a time series for each probe of each parameter.
static constexpr size_t maxProbes = 10000;

namespace {

/// The server's statistics at the time of asking.
class StatisticsMetrics : public prometheus::Collectable {
public:
  explicit StatisticsMetrics(const server::Server &server) : server(server) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const server::Statistics now = server.statistics();
    const auto gauge = [](const char *name, const char *help, double value) {
      prometheus::MetricFamily family;
      family.name = name;
      family.help = help;
      family.type = prometheus::MetricType::Gauge;
      family.metric.emplace_back().gauge.value = value;
      return family;
    };
    std::vector<prometheus::MetricFamily> result = {
        gauge("updraft_parameters", "Parameters.", double(now.parameters)),
        gauge("updraft_optimizers", "Optimizers.", double(now.optimizers)),
        gauge("updraft_contexts", "Open contexts.", double(now.contexts)),
        gauge("updraft_clients", "Registered clients.", double(now.clients)),
        gauge("updraft_answers", "Remembered answers.", double(now.rememberedAnswers)),
        gauge("updraft_undecided_steps",
              "Steps of several workers that are prepared and not decided.",
              double(now.undecidedSteps)),
        gauge("updraft_tensor_bytes", "Bytes of parameters and gradients.",
              double(now.tensorBytes)),
        gauge("updraft_journal_bytes", "Bytes of the journal.", double(now.journalBytes))};
    prometheus::MetricFamily steps;
    steps.name = "updraft_steps_total";
    steps.help = "Steps since the start.";
    steps.type = prometheus::MetricType::Counter;
    steps.metric.emplace_back().counter.value = double(now.steps);
    result.push_back(std::move(steps));
    addProbes(result);
    return result;
  }

private:
  void addProbes(std::vector<prometheus::MetricFamily> &result) const {
    const std::vector<server::ProbeValue> probes = server.probes();
    if (probes.empty())
      return;
    prometheus::MetricFamily reported, buckets, left;
    reported.name = "updraft_probe";
    reported.help = "The newest value of a probe, by optimizer, parameter and probe.";
    buckets.name = "updraft_probe_bucket";
    buckets.help = "Of the newest histogram: how many elements are below `le`, by optimizer, "
                   "parameter and probe.";
    left.name = "updraft_unreported_probes";
    left.help = "Probes of parameters beyond the first 10000.";
    reported.type = buckets.type = left.type = prometheus::MetricType::Gauge;
    for (size_t i = 0; i < std::min(probes.size(), maxProbes); ++i) {
      const bool isBucket = probes[i].below.has_value();
      prometheus::ClientMetric &metric = (isBucket ? buckets : reported).metric.emplace_back();
      metric.label = {{"optimizer", probes[i].optimizer},
                      {"parameter", probes[i].parameter},
                      {"probe", probes[i].probe}};
      if (isBucket)
        metric.label.push_back({"le", std::isinf(*probes[i].below)
                                          ? std::string("+Inf")
                                          : fmt::format("{}", *probes[i].below)});
      metric.gauge.value = probes[i].value;
    }
    left.metric.emplace_back().gauge.value =
        double(probes.size() - std::min(probes.size(), maxProbes));
    for (prometheus::MetricFamily *family : {&reported, &buckets})
      if (!family->metric.empty())
        result.push_back(std::move(*family));
    result.push_back(std::move(left));
  }

  const server::Server &server;
};

class Interceptor : public experimental::Interceptor {
public:
  Interceptor(Metrics &metrics, std::string method) : metrics(metrics), method(std::move(method)) {}

  void Intercept(experimental::InterceptorBatchMethods *methods) override {
    using experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      metrics.countRequest(method, methods->GetSendStatus().error_code(), taken.count());
    }
    methods->Proceed();
  }

private:
  Metrics &metrics;
  const std::string method;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// The name of a method of this worker, or "other": a client chooses the name that it calls.
std::string labelOf(std::string_view path) {
  static const std::set<std::string, std::less<>> known = [] {
    std::set<std::string, std::less<>> result = {"Check", "Watch", "ServerReflectionInfo"};
    for (const char *name : {v1::Worker::service_full_name(), v1::Peer::service_full_name()}) {
      const auto *service =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      for (int i = 0; i < service->method_count(); ++i)
        result.insert(service->method(i)->name());
    }
    return result;
  }();
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return known.contains(name) ? std::string(name) : "other";
}

class Interceptors : public experimental::ServerInterceptorFactoryInterface {
public:
  explicit Interceptors(Metrics &metrics) : metrics(metrics) {}
  experimental::Interceptor *CreateServerInterceptor(experimental::ServerRpcInfo *info) override {
    const std::string_view path = info->method();
    return path == "/updraft.worker.v1.Worker/Step" ? nullptr
                                                    : new Interceptor(metrics, labelOf(path));
  }

private:
  Metrics &metrics;
};

} // namespace

Metrics::Metrics()
    : requests(prometheus::BuildCounter()
                   .Name("updraft_requests_total")
                   .Help("Requests that were answered, by method and gRPC's code.")
                   .Register(*registry)),
      times(prometheus::BuildHistogram()
                .Name("updraft_request_seconds")
                .Help("The time from a request to its answer, by method.")
                .Register(*registry)),
      snapshots(prometheus::BuildCounter()
                    .Name("updraft_snapshots_total")
                    .Help("Snapshots, by whether they were written.")
                    .Register(*registry)),
      snapshotTimes(prometheus::BuildHistogram()
                        .Name("updraft_snapshot_seconds")
                        .Help("The time that a snapshot takes.")
                        .Register(*registry)
                        .Add({}, boundaries)),
      handshakes(prometheus::BuildCounter()
                     .Name("updraft_failed_handshakes_total")
                     .Help("TLS handshakes that gRPC has reported as failed.")
                     .Register(*registry)
                     .Add({})) {}

Metrics::Serving Metrics::serve(const std::string &address, const server::Server &server) const {
  Serving serving{std::make_shared<StatisticsMetrics>(server),
                  std::make_unique<prometheus::Exposer>(address, 4)};
  serving.exposer->RegisterCollectable(registry);
  serving.exposer->RegisterCollectable(serving.statistics);
  return serving;
}

void Metrics::countRequest(const std::string &method, int code, double seconds) {
  const bool isKnown = code >= 0 && static_cast<size_t>(code) < codes.size();
  requests.Add({{"method", method}, {"code", isKnown ? codes[static_cast<size_t>(code)] : "other"}})
      .Increment();
  times.Add({{"method", method}}, boundaries).Observe(seconds);
}

void Metrics::countSnapshot(bool isWritten, double seconds) {
  snapshots.Add({{"written", isWritten ? "true" : "false"}}).Increment();
  snapshotTimes.Observe(seconds);
}

std::unique_ptr<experimental::ServerInterceptorFactoryInterface> Metrics::interceptors() {
  return std::make_unique<Interceptors>(*this);
}
