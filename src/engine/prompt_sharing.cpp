#include <zllm/engine/prompt_sharing.h>

#include <algorithm>

#include <zllm/engine/prefix_cache.h>

namespace zllm::engine {
namespace {

// Less is computed again sooner than waited for.
constexpr std::uint64_t kSharedRows = 64;

std::uint64_t common_rows(const Job& job, const Job& other) {
  const auto& a = job.request.prompt;
  const auto& b = other.request.prompt;
  const auto [differs, end] = std::mismatch(a.begin(), a.end() - 1, b.begin(), b.end());
  return static_cast<std::uint64_t>(differs - a.begin());
}

}  // namespace

bool awaits_prompt_of(const Job& job, const Job& other, bool is_recurrent) {
  const Choice *const reader = other.leader();
  if (&job == &other || other.is_ended || other.is_prompt_read || !other.request.writes_cache ||
      reader == nullptr || !reader->sequence) {
    return false;
  }
  if (job.is_prompt_read || !job.request.reads_cache ||
      job.request.wants_prompt_log_probabilities) {
    return false;
  }
  std::uint64_t usable = common_rows(job, other);
  if (is_recurrent) {
    const std::uint64_t kept = anchor_before(other.prompt_size() - 1);
    usable = kept <= usable ? kept : 0;
  }
  return usable >= kSharedRows && usable >= other.prompt_size() / 2 && usable > reader->rows;
}

}  // namespace zllm::engine
