#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace zllm::engine {

// The order in which waiting requests are served: a higher priority first; of equal ones the caller
// that has had the fewest tokens for its weight (start-time fair queueing: Goyal, Vin, Cheng 1996);
// of one caller in order of arrival. A caller that was away owes and is owed nothing.
class RequestQueue {
 public:
  // Weights above 0 of callers, 1 where not named.
  explicit RequestQueue(std::unordered_map<std::string, double> weights = {});

  // Ids ascend in order of arrival.
  void push(std::uint64_t id, const std::string& caller, std::int32_t priority);
  // Who is next.
  std::optional<std::uint64_t> front() const;
  std::optional<std::int32_t> front_priority() const;
  // Takes it out.
  void pop();
  bool remove(std::uint64_t id);
  // What was computed for a caller.
  void charge(const std::string& caller, std::uint64_t tokens);
  std::size_t size() const { return size_; }

 private:
  using Key = std::pair<std::int64_t, std::uint64_t>;  // -priority, id
  struct Caller {
    double served = 0;  // tokens by weight
    std::map<Key, std::uint64_t> waiting;
  };
  using Callers = std::unordered_map<std::string, Caller>;

  Callers::const_iterator next() const;
  Caller& find(const std::string& name);
  void forget_idle();

  std::unordered_map<std::string, double> weights_;
  Callers callers_;
  std::size_t size_ = 0;
  double clock_ = 0;  // served tokens of the caller that was last popped
};

}  // namespace zllm::engine
