#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace zllm::engine {

// What the loop has done since it started, and what it holds now. Counters only grow.
struct Statistics {
  std::uint64_t rounds = 0;
  std::uint64_t prompt_tokens = 0;     // computed
  std::uint64_t cached_tokens = 0;     // of prompts, taken from the cache
  std::uint64_t generated_tokens = 0;  // sampled or forced
  std::uint64_t forced_tokens = 0;
  std::uint64_t finished_requests = 0;
  std::uint64_t cancelled_requests = 0;
  std::uint64_t failed_requests = 0;
  std::uint64_t refused_requests = 0;  // the queue was full
  std::uint64_t preemptions = 0;
  std::uint64_t swapped_bytes = 0;
  double busy_seconds = 0;  // in rounds
  double last_round_seconds = 0;
  double stalled_seconds = 0;  // since a round ended, or since there is something to compute

  std::size_t queued_requests = 0;
  std::size_t running_requests = 0;
  std::size_t running_sequences = 0;
  std::size_t paused_sequences = 0;  // whose reader is slow
  std::uint64_t free_rows = 0;
  std::uint64_t used_rows = 0;    // by answers and the cache
  std::uint64_t cache_bytes = 0;  // held by the prefix cache alone
  std::uint64_t cache_entries = 0;
  std::uint64_t cache_evictions = 0;
  std::uint64_t disk_bytes = 0;
};

}  // namespace zllm::engine
