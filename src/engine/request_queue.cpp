#include <zllm/engine/request_queue.h>

#include <algorithm>
#include <tuple>

#include <zllm/base/check.h>

namespace zllm::engine {
namespace {

// Callers are told apart by name, and names come from outside.
constexpr std::size_t kRememberedCallers = 1024;

}  // namespace

RequestQueue::RequestQueue(std::unordered_map<std::string, double> weights)
    : weights_(std::move(weights)) {}

void RequestQueue::push(std::uint64_t id, const std::string& caller, std::int32_t priority) {
  Caller& found = find(caller);
  if (found.waiting.empty()) {
    found.served = std::max(found.served, clock_);
  }
  found.waiting.emplace(Key(-std::int64_t{priority}, id), id);
  ++size_;
}

std::optional<std::uint64_t> RequestQueue::front() const {
  const auto caller = next();
  return caller == callers_.end() ? std::nullopt
                                  : std::optional(caller->second.waiting.begin()->second);
}

std::optional<std::int32_t> RequestQueue::front_priority() const {
  const auto caller = next();
  if (caller == callers_.end()) {
    return {};
  }
  return static_cast<std::int32_t>(-caller->second.waiting.begin()->first.first);
}

void RequestQueue::pop() {
  const auto caller = next();
  ZLLM_CHECK(caller != callers_.end(), "pop of an empty queue");
  Caller& found = callers_.at(caller->first);
  clock_ = std::max(clock_, found.served);
  found.waiting.erase(found.waiting.begin());
  --size_;
}

bool RequestQueue::remove(std::uint64_t id) {
  for (auto& [name, caller] : callers_) {
    const auto found =
        std::ranges::find_if(caller.waiting, [&](const auto& item) { return item.second == id; });
    if (found != caller.waiting.end()) {
      caller.waiting.erase(found);
      --size_;
      return true;
    }
  }
  return false;
}

void RequestQueue::charge(const std::string& caller, std::uint64_t tokens) {
  const auto weight = weights_.find(caller);
  find(caller).served +=
      static_cast<double>(tokens) / (weight == weights_.end() ? 1.0 : weight->second);
}

RequestQueue::Callers::const_iterator RequestQueue::next() const {
  auto best = callers_.end();
  const auto rank = [](const Caller& caller) {
    const Key& first = caller.waiting.begin()->first;
    return std::tuple(first.first, caller.served, first.second);
  };
  for (auto caller = callers_.begin(); caller != callers_.end(); ++caller) {
    if (!caller->second.waiting.empty() &&
        (best == callers_.end() || rank(caller->second) < rank(best->second))) {
      best = caller;
    }
  }
  return best;
}

RequestQueue::Caller& RequestQueue::find(const std::string& name) {
  const auto found = callers_.find(name);
  if (found != callers_.end()) {
    return found->second;
  }
  if (callers_.size() >= kRememberedCallers) {
    forget_idle();
  }
  return callers_.emplace(name, Caller{.served = clock_, .waiting = {}}).first->second;
}

void RequestQueue::forget_idle() {
  std::erase_if(callers_, [&](const auto& item) { return item.second.waiting.empty(); });
}

}  // namespace zllm::engine
