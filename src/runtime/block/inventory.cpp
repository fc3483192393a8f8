#include <zllm/runtime/block/inventory.h>

#include <algorithm>
#include <variant>

namespace zllm::runtime::block {

using backend::Op;
using backend::OpKey;
using encoding::WeightView;

void Inventory::add(const weight::EndWeights& ends, bool tied, bool embeds, bool has_head) {
  if (embeds) {
    require(ends.embedding, Op::embed);
    if (!tied || !has_head) {
      count(ends.embedding);
    }
  }
  if (has_head) {
    add_matrix(ends.head);
    add_vector(ends.final_norm);
  }
}

void Inventory::add(const weight::GqaWeights& weights) {
  for (const WeightView *view : {&weights.query, &weights.key, &weights.value, &weights.output}) {
    add_matrix(*view);
  }
  for (const auto *view : {&weights.query_bias, &weights.key_bias, &weights.value_bias,
                           &weights.output_bias, &weights.query_norm, &weights.key_norm}) {
    add_vector(*view);
  }
}

void Inventory::add(const weight::LatentAttentionWeights& weights) {
  for (const auto *view : {&weights.query_down, &weights.shared_key}) {
    if (*view) {
      add_matrix(**view);
    }
  }
  for (const WeightView *view : {&weights.query, &weights.latent, &weights.output}) {
    add_matrix(*view);
  }
  for (const WeightView *view :
       {&weights.up_fused, &weights.up_keys_transposed, &weights.up_values}) {
    if (view->rows != 0) {
      add_matrix(*view, Op::latent_up);
    }
  }
  add_vector(weights.latent_norm);
  for (const auto *view : {&weights.query_down_bias, &weights.query_norm, &weights.latent_bias,
                           &weights.shared_key_bias, &weights.output_bias}) {
    add_vector(*view);
  }
}

void Inventory::add(const weight::IndexerWeights& weights) {
  for (const WeightView *view : {&weights.query, &weights.key, &weights.weights}) {
    add_matrix(*view);
  }
  if (weights.gates) {
    add_matrix(*weights.gates);
  }
  add_vector(weights.key_norm);
  add_vector(weights.key_norm_bias);
  add_vector(weights.position_bias);
}

void Inventory::add(const weight::DeltaAttentionWeights& weights) {
  for (const WeightView *view :
       {&weights.query, &weights.key, &weights.value, &weights.decay_down, &weights.decay_up,
        &weights.beta, &weights.gate_down, &weights.gate_up, &weights.output}) {
    add_matrix(*view);
  }
  for (const WeightView *view : {&weights.query_taps, &weights.key_taps, &weights.value_taps,
                                 &weights.rates, &weights.decay_bias, &weights.norm}) {
    add_vector(*view);
  }
}

void Inventory::add(const weight::StreamWeights& weights) {
  add_matrix(weights.mixing);
  add_vector(weights.base);
  add_vector(weights.scale);
}

void Inventory::add(const weight::MlpWeights& weights) {
  for (const WeightView *view : {&weights.gate, &weights.up, &weights.down}) {
    add_matrix(*view);
  }
  for (const auto *view : {&weights.gate_bias, &weights.up_bias, &weights.down_bias}) {
    add_vector(*view);
  }
}

void Inventory::add(const weight::MixtureWeights& weights, const moe::RouterSpec& router) {
  if (const auto *dense = std::get_if<weight::MlpWeights>(&weights)) {
    add(*dense);
    return;
  }
  const auto& sparse = std::get<weight::ExpertWeights>(weights);
  add_matrix(sparse.router);
  add_vector(sparse.selection_bias);
  std::uint64_t all_experts = 0;
  for (const auto *views : {&sparse.gate, &sparse.up, &sparse.down}) {
    for (const WeightView& view : *views) {
      require(view, Op::experts);
      count(view);
      all_experts += view.bytes.size();
    }
  }
  bytes_per_token_ += all_experts / router.experts * router.top_k;
  if (sparse.shared) {
    add(*sparse.shared);
  }
  if (sparse.shared_gate) {
    add_matrix(*sparse.shared_gate);
  }
}

void Inventory::add_vector(const WeightView& view) { count(view); }

void Inventory::add_vector(const std::optional<WeightView>& view) {
  if (view) {
    count(*view);
  }
}

void Inventory::add_matrix(const WeightView& view, Op op) {
  require(view, op);
  count(view);
  bytes_per_token_ += view.bytes.size();
}

void Inventory::count(const WeightView& view) {
  parameters_ += view.rows * view.columns;
  bytes_ += view.bytes.size();
}

void Inventory::require(const WeightView& view, Op op) {
  const OpKey key{.op = op, .encoding = view.encoding, .rows = view.rows, .columns = view.columns};
  if (std::ranges::find(keys_, key) == keys_.end()) {
    keys_.push_back(key);
  }
}

}  // namespace zllm::runtime::block
