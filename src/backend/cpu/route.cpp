#include <algorithm>
#include <atomic>
#include <utility>

#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

// Routing fewer rows than this is cheaper than waking other threads for it.
constexpr std::uint32_t kRowsAlone = 8;
constexpr std::uint64_t kRowsAPiece = 4;

}  // namespace

Result<moe::Routing> CpuBackend::routing(std::uint32_t rows, const moe::RouterSpec& spec) {
  ZLLM_TRY(moe::validate(spec));
  moe::Routing routing;
  routing.top_k = spec.top_k;
  routing.experts.reserve(std::size_t{rows} * spec.top_k);
  routing.weights.reserve(std::size_t{rows} * spec.top_k);
  return routing;
}

Status CpuBackend::route(const moe::RouterSpec& spec, const Tensor& logits, const Weight *bias,
                         moe::Routing& routing) {
  ZLLM_CHECK(logits.columns() == spec.experts && routing.top_k == spec.top_k, "shape of route");
  const std::span<const float> biases =
      bias == nullptr ? std::span<const float>()
                      : std::span(bias->values(), bias->rows() * bias->columns());
  const std::span<const float> all(logits.data(), logits.size());
  const auto route_all = [&]() -> Status {
    ZLLM_TRY(routing, moe::route(spec, all, biases));
    return {};
  };
  if (logits.rows() < kRowsAlone) {
    return route_all();
  }
  ZLLM_TRY(moe::validate(spec));
  routing.experts.resize(std::size_t{logits.rows()} * spec.top_k);
  routing.weights.resize(routing.experts.size());
  std::atomic<bool> failed = false;
  state_->threads.parallel_for(
      logits.rows(), kRowsAPiece, [&](std::uint64_t begin, std::uint64_t end) {
        const auto part = moe::route(
            spec, all.subspan(begin * spec.experts, (end - begin) * spec.experts), biases);
        if (!part.ok()) {
          failed = true;
          return;
        }
        const auto first = static_cast<std::ptrdiff_t>(begin * spec.top_k);
        std::ranges::copy(part->experts, routing.experts.begin() + first);
        std::ranges::copy(part->weights, routing.weights.begin() + first);
      });
  // An error names the row, which a part counts from its own first.
  return failed ? route_all() : Status();
}

}  // namespace zllm::backend::cpu
