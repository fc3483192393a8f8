#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/engine/job.h>
#include <zllm/engine/statistics.h>
#include <zllm/runtime/round.h>
#include <zllm/sampling/sampler.h>

namespace zllm::engine {

// Turns logits into tokens and events. Every token depends on the request, the choice and its place
// alone, whatever else runs. An error concerns the one request.
class AnswerWriter {
 public:
  AnswerWriter(const runtime::RoundLimits& limits, Statistics& statistics)
      : limits_(limits), statistics_(statistics) {}

  // Whether logits after row `row` of the history are needed.
  static bool wants(const Job& job, const Choice& choice, std::uint64_t row);

  // Takes the logits after row `row`; rows come in order.
  Status take(Job& job, Choice& choice, std::uint64_t row, std::span<const float> logits);

  // Ids that may be chosen.
  std::size_t vocabulary(const Request& request) const;

 private:
  Status choose(Job& job, Choice& choice, std::span<const float> logits);
  Result<TokenId> sample(const Job& job, Choice& choice, std::span<const float> logits);
  Result<std::span<const std::uint32_t>> mask(const Job& job, Choice& choice);
  Status append_forced(Job& job, Choice& choice);
  Status send(Job& job, Choice& choice, bool is_forced, std::span<const float> logits);
  void settle(const Job& job, Choice& choice);

  runtime::RoundLimits limits_;
  Statistics& statistics_;
  sampling::Sampler sampler_;
  std::vector<std::uint32_t> mask_;
};

}  // namespace zllm::engine
