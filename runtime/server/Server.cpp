//===- Server.cpp - A parameter server, without its transport ---------------------------------===//

#include "runtime/server/Server.h"

#include "runtime/server/Refusal.h"

#include <fmt/format.h>

using namespace updraft::server;

Server::Server(const Limits &limits, RuleMaker makeRule, RequestTable::Clock clock)
    : memory(limits.tensorBytes), makeRule(std::move(makeRule)),
      answers(limits.answerAge, limits.answersPerClient, std::move(clock)) {}

const Server::Entry &Server::entry(const std::string &name) const {
  const auto found = optimizers.find(name);
  if (found == optimizers.end())
    throw Refusal(Reason::NotFound, fmt::format("the worker has no optimizer `{}`", name));
  return found->second;
}

Server::Entry &Server::entry(const std::string &name) {
  return const_cast<Entry &>(std::as_const(*this).entry(name));
}

std::shared_ptr<GradientContext> Server::contextOf(const Entry &entry, const std::string &name,
                                                   uint64_t context) {
  const auto found = entry.contexts.find(context);
  if (found == entry.contexts.end())
    throw Refusal(Reason::NotFound, fmt::format("optimizer `{}` has no open context {}; it was "
                                                "released, or never opened",
                                                name, context));
  return found->second;
}

void Server::createOptimizer(const std::string &name, const OptimizerRequest &request) {
  const auto isKnown = [&] {
    const auto found = optimizers.find(name);
    if (found == optimizers.end())
      return false;
    if (found->second.request != request)
      throw Refusal(Reason::AlreadyExists,
                    fmt::format("there is another optimizer `{}`; delete it first, or give this "
                                "one another name",
                                name));
    return true;
  };
  {
    const std::lock_guard guard(mutex);
    if (isKnown())
      return;
  }
  auto made = std::make_shared<ServedOptimizer>(makeRule(request.rule), request.groups,
                                                request.seed, store);
  const std::lock_guard guard(mutex);
  if (!isKnown())
    optimizers.emplace(name, Entry{request, std::move(made), {}});
}

void Server::deleteOptimizer(const std::string &name) {
  Entry last; // freed after the mutex is unlocked
  const std::lock_guard guard(mutex);
  if (const auto found = optimizers.find(name); found != optimizers.end()) {
    last = std::move(found->second);
    optimizers.erase(found);
  }
}

void Server::setHypers(const std::string &name, size_t group, const Hypers &hypers) {
  std::shared_ptr<ServedOptimizer> optimizer;
  {
    const std::lock_guard guard(mutex);
    optimizer = entry(name).optimizer;
  }
  optimizer->setHypers(group, hypers);
}

std::shared_ptr<const ServedOptimizer> Server::optimizer(const std::string &name) const {
  const std::lock_guard guard(mutex);
  return entry(name).optimizer;
}

void Server::openContext(const std::string &name, uint64_t context) {
  const std::lock_guard guard(mutex);
  std::shared_ptr<GradientContext> &place = entry(name).contexts[context];
  if (!place)
    place = std::make_shared<GradientContext>();
}

void Server::releaseContext(const std::string &name, uint64_t context) {
  std::shared_ptr<GradientContext> last; // freed after the mutex is unlocked
  const std::lock_guard guard(mutex);
  auto &contexts = entry(name).contexts;
  if (const auto found = contexts.find(context); found != contexts.end()) {
    last = std::move(found->second);
    contexts.erase(found);
  }
}

void Server::push(const std::string &name, uint64_t context, const RequestKey &request,
                  std::vector<Gradient> gradients) {
  std::shared_ptr<GradientContext> given;
  std::shared_ptr<const ServedOptimizer> optimizer;
  {
    const std::lock_guard guard(mutex);
    given = contextOf(entry(name), name, context);
    optimizer = entry(name).optimizer;
  }
  for (const Gradient &gradient : gradients)
    optimizer->check(gradient);
  given->add(request, std::move(gradients));
}

int64_t Server::step(const std::string &name, uint64_t context, const RequestKey &request) {
  return answers.once(request, [&] {
    std::shared_ptr<GradientContext> given;
    std::shared_ptr<ServedOptimizer> optimizer;
    {
      const std::lock_guard guard(mutex);
      given = contextOf(entry(name), name, context);
      optimizer = entry(name).optimizer;
    }
    const int64_t stepped = optimizer->step(*given, memory);
    ++steps;
    return stepped;
  });
}

Statistics Server::statistics() const {
  Statistics result;
  result.parameters = store.all().size();
  result.rememberedAnswers = answers.size();
  result.tensorBytes = memory.used();
  result.steps = steps;
  const std::lock_guard guard(mutex);
  result.optimizers = optimizers.size();
  for (const auto &[name, entry] : optimizers)
    result.contexts += entry.contexts.size();
  return result;
}
