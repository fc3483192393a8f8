#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include <zllm/base/result.h>
#include <zllm/engine/prefix_cache.h>
#include <zllm/engine/request.h>
#include <zllm/engine/statistics.h>
#include <zllm/engine/stream.h>
#include <zllm/runtime/any_model.h>

namespace zllm::engine {

struct LoopOptions {
  std::uint32_t sequences = 16;       // answers that are computed at once
  std::uint64_t prefill_rows = 0;     // prompt rows of a round beside answers; 0 = measured sense
  std::size_t queue_length = 1024;    // requests that wait at most; more are refused
  std::size_t buffered_events = 256;  // of a choice that its reader has not taken
  std::uint64_t swap_bytes = 0;       // host memory for states of preempted answers; 0 = recompute
  PrefixCacheOptions prefix_cache = {};
  std::unordered_map<std::string, double> weights = {};  // of callers, where not 1
  std::function<Status()> check = {};  // asked after every round; an error fails what runs
};

// The one loop that owns a model: continuous batching of all requests in rounds, decode rows first,
// then chunks of prompts within a budget. Thread-safe.
class Loop {
 public:
  // The model must outlive the loop. Starts its thread.
  static Result<std::unique_ptr<Loop>> start(runtime::AnyModel& model, LoopOptions options);
  virtual ~Loop() = default;  // ends what runs as shut_down

  // invalid_argument: the request can never run, and why (a prompt beyond the context with both
  // counts); resource_exhausted: the queue is full.
  virtual Result<std::unique_ptr<Stream>> submit(Request request) = 0;
  virtual Statistics statistics() const = 0;
};

}  // namespace zllm::engine
