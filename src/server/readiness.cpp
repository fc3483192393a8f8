#include <zllm/server/readiness.h>

namespace zllm::server {

bool Readiness::can_answer(const std::string& model, const engine::Statistics& statistics,
                           Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  auto [entry, is_new] = seen_.try_emplace(model, Seen{statistics.rounds, now});
  Seen& seen = entry->second;
  // Answers whose readers are slow wait for them, not for the engine.
  const bool is_busy =
      statistics.queued_requests > 0 || statistics.running_sequences > statistics.paused_sequences;
  if (is_new || !is_busy || statistics.rounds != seen.rounds) {
    seen = {statistics.rounds, now};
    return true;
  }
  return now - seen.since < kStuckAfter;
}

}  // namespace zllm::server
