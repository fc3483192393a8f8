#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <zllm/engine/statistics.h>

namespace zllm::server {

// Whether an engine could produce a token now: it has nothing to do, or it has run a round lately.
// Thread-safe.
class Readiness {
 public:
  using Clock = std::chrono::steady_clock;

  // Without a round for so long while requests wait or run, something is stuck: the longest round
  // takes seconds even on slow machines.
  static constexpr std::chrono::seconds kStuckAfter{60};

  bool can_answer(const std::string& model, const engine::Statistics& statistics,
                  Clock::time_point now);

 private:
  struct Seen {
    std::uint64_t rounds = 0;
    Clock::time_point since;
  };
  std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

}  // namespace zllm::server
