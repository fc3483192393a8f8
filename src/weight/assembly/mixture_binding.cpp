#include <string>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/mixture.h>

namespace zllm::weight {
namespace {

// Names of wholly missing experts that a message needs; a configuration can claim thousands.
constexpr std::uint32_t kNamedLostExperts = 4;

struct Block {
  WeightBinder& binder;
  std::string_view prefix;
  const MixtureNames& names;
  std::uint64_t hidden;

  std::string name(std::string_view ending) const { return concat(prefix, ending); }
  bool has(std::string_view ending) const { return !ending.empty() && binder.has(name(ending)); }
  MlpWeights mlp(std::string_view gate, std::string_view up, std::string_view down,
                 std::uint64_t intermediate) const {
    return {.gate = binder.matrix(name(gate), intermediate, hidden),
            .up = binder.matrix(name(up), intermediate, hidden),
            .down = binder.matrix(name(down), hidden, intermediate)};
  }
};

// Experts in matrices of their own.
void bind_single(const Block& block, const model_spec::Mixture& mixture, ExpertWeights& weights) {
  const MixtureNames& names = block.names;
  const bool is_other = block.has(concat(names.experts, 0, names.other_gate));
  const std::string_view gate = is_other ? names.other_gate : names.expert_gate;
  const std::string_view up = is_other ? names.other_up : names.expert_up;
  const std::string_view down = is_other ? names.other_down : names.expert_down;
  std::uint32_t lost = 0;
  for (std::uint32_t expert = 0; expert < mixture.router.experts; ++expert) {
    const std::string stem = concat(names.experts, expert);
    const bool is_lost = !block.has(concat(stem, gate)) && !block.has(concat(stem, up)) &&
                         !block.has(concat(stem, down));
    lost += is_lost ? 1 : 0;
    if (is_lost && lost > kNamedLostExperts) {
      if (lost == expert + 1) {
        return;
      }
      continue;
    }
    MlpWeights views = block.mlp(concat(stem, gate), concat(stem, up), concat(stem, down),
                                 mixture.expert_intermediate);
    weights.gate.push_back(views.gate);
    weights.up.push_back(views.up);
    weights.down.push_back(views.down);
  }
}

void bind_stacked(const Block& block, const model_spec::Mixture& mixture, ExpertWeights& weights) {
  const MixtureNames& names = block.names;
  const std::uint64_t experts = mixture.router.experts;
  const std::uint64_t intermediate = mixture.expert_intermediate;
  weights.down =
      block.binder.stack(block.name(names.stacked_down), experts, block.hidden, intermediate);
  if (!block.has(names.stacked_gate_up)) {
    weights.gate =
        block.binder.stack(block.name(names.stacked_gate), experts, intermediate, block.hidden);
    weights.up =
        block.binder.stack(block.name(names.stacked_up), experts, intermediate, block.hidden);
    return;
  }
  for (encoding::WeightView& view : block.binder.stack(block.name(names.stacked_gate_up), experts,
                                                       2 * intermediate, block.hidden)) {
    const std::size_t half = view.bytes.size() / 2;
    view.rows = intermediate;
    weights.gate.push_back(view);
    weights.gate.back().bytes = view.bytes.first(half);
    weights.up.push_back(view);
    weights.up.back().bytes = view.bytes.subspan(half);
  }
}

ExpertWeights bind_experts(const Block& block, const model_spec::Mixture& mixture) {
  const MixtureNames& names = block.names;
  const std::uint64_t experts = mixture.router.experts;
  ExpertWeights weights;
  weights.router = block.binder.matrix(block.name(names.router), experts, block.hidden);
  if (mixture.router.has_selection_bias) {
    weights.selection_bias = block.binder.vector(block.name(names.selection_bias), experts);
  }
  const bool is_stacked = names.experts.empty() || block.has(names.stacked_gate_up) ||
                          block.has(names.stacked_gate) || block.has(names.stacked_down);
  if (is_stacked) {
    bind_stacked(block, mixture, weights);
  } else {
    bind_single(block, mixture, weights);
  }
  if (mixture.shared_intermediate != 0) {
    weights.shared = block.mlp(names.shared_gate, names.shared_up, names.shared_down,
                               mixture.shared_intermediate);
  }
  if (mixture.shared_gate) {
    weights.shared_gate = block.binder.matrix(block.name(names.shared_router), 1, block.hidden);
  }
  return weights;
}

}  // namespace

MixtureWeights bind_mixture(WeightBinder& binder, std::string_view prefix,
                            const MixtureNames& names, const model_spec::Mixture& mixture,
                            std::uint32_t hidden, std::uint32_t layer) {
  const Block block{.binder = binder, .prefix = prefix, .names = names, .hidden = hidden};
  if (!mixture.is_sparse[layer]) {
    return block.mlp(names.gate, names.up, names.down, mixture.dense_intermediate);
  }
  return bind_experts(block, mixture);
}

}  // namespace zllm::weight
