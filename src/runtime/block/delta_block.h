#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/runtime/block/shape.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// Kimi delta attention: the delta rule with its projections, low-rank gates and gated output norm.
template <backend::DeltaRuleBackend B>
class DeltaBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Job = backend::LinearJob<Tensor, Weight>;

  struct Weights {
    Weight query, key, value, query_taps, key_taps, value_taps;
    Weight decay_down, decay_up, rates, decay_bias, beta, gate_down, gate_up, norm, output;
  };

  static Result<Weights> load(WeightLoader<B>& loader, const weight::DeltaAttentionWeights& views) {
    ZLLM_TRY(Weight query, loader.matrix(views.query));
    ZLLM_TRY(Weight key, loader.matrix(views.key));
    ZLLM_TRY(Weight value, loader.matrix(views.value));
    ZLLM_TRY(Weight query_taps, loader.vector(views.query_taps));
    ZLLM_TRY(Weight key_taps, loader.vector(views.key_taps));
    ZLLM_TRY(Weight value_taps, loader.vector(views.value_taps));
    ZLLM_TRY(Weight decay_down, loader.matrix(views.decay_down));
    ZLLM_TRY(Weight decay_up, loader.matrix(views.decay_up));
    ZLLM_TRY(Weight rates, loader.vector(views.rates));
    ZLLM_TRY(Weight decay_bias, loader.vector(views.decay_bias));
    ZLLM_TRY(Weight beta, loader.matrix(views.beta));
    ZLLM_TRY(Weight gate_down, loader.matrix(views.gate_down));
    ZLLM_TRY(Weight gate_up, loader.matrix(views.gate_up));
    ZLLM_TRY(Weight norm, loader.vector(views.norm));
    ZLLM_TRY(Weight output, loader.matrix(views.output));
    return Weights{.query = std::move(query),
                   .key = std::move(key),
                   .value = std::move(value),
                   .query_taps = std::move(query_taps),
                   .key_taps = std::move(key_taps),
                   .value_taps = std::move(value_taps),
                   .decay_down = std::move(decay_down),
                   .decay_up = std::move(decay_up),
                   .rates = std::move(rates),
                   .decay_bias = std::move(decay_bias),
                   .beta = std::move(beta),
                   .gate_down = std::move(gate_down),
                   .gate_up = std::move(gate_up),
                   .norm = std::move(norm),
                   .output = std::move(output)};
  }

  static Result<DeltaBlock> make(B& backend, const DeltaShape& shape, std::uint32_t rows) {
    const attention::delta_rule::Spec& delta = shape.delta;
    const std::uint32_t values = delta.value_heads * delta.value_width;
    ZLLM_TRY(Tensor mixed, backend.tensor(rows, static_cast<std::uint32_t>(channels(delta))));
    ZLLM_TRY(Tensor decay, backend.tensor(rows, static_cast<std::uint32_t>(decays(delta))));
    ZLLM_TRY(Tensor decay_low, backend.tensor(rows, shape.gate_rank));
    ZLLM_TRY(Tensor beta, backend.tensor(rows, delta.value_heads));
    ZLLM_TRY(Tensor gate, backend.tensor(rows, values));
    ZLLM_TRY(Tensor gate_low, backend.tensor(rows, shape.gate_rank));
    ZLLM_TRY(Tensor read, backend.tensor(rows, values));
    return DeltaBlock(shape, std::move(mixed), std::move(decay), std::move(decay_low),
                      std::move(beta), std::move(gate), std::move(gate_low), std::move(read));
  }

  void set_rows(std::uint32_t rows) {
    for (Tensor *tensor : {&mixed_, &decay_, &decay_low_, &beta_, &gate_, &gate_low_, &read_}) {
      tensor->set_rows(rows);
    }
  }

  // out (+)= the block of the rows of `in`, which are normalised.
  Status run(B& backend, const Weights& weights, typename B::SlotCache& slots,
             backend::SlotPlaneId plane, std::span<const backend::SlotSegment> segments,
             const Tensor& in, backend::LinearOutput output, Tensor& out) {
    ZLLM_TRY(project(backend, weights, in));
    const backend::DeltaRuleInputs<Tensor> inputs{
        .mixed = &mixed_, .decay = &decay_, .beta = &beta_};
    const backend::DeltaRuleWeights<Weight> vectors{.query_taps = &weights.query_taps,
                                                    .key_taps = &weights.key_taps,
                                                    .value_taps = &weights.value_taps,
                                                    .rates = &weights.rates,
                                                    .decay_bias = &weights.decay_bias};
    ZLLM_TRY(backend.delta_rule(slots, plane, shape_.delta, segments, inputs, vectors, read_));
    const norm::Spec norm{.flavour = norm::Flavour::gated_rms_sigmoid,
                          .epsilon = shape_.norm_epsilon};
    ZLLM_TRY(backend.gated_norm(norm, read_, weights.norm, gate_, read_));
    const Job job[] = {{.weight = &weights.output, .bias = nullptr, .out = &out}};
    return backend.linear(read_, job, output);
  }

 private:
  DeltaBlock(const DeltaShape& shape, Tensor mixed, Tensor decay, Tensor decay_low, Tensor beta,
             Tensor gate, Tensor gate_low, Tensor read)
      : shape_(shape),
        mixed_(std::move(mixed)),
        decay_(std::move(decay)),
        decay_low_(std::move(decay_low)),
        beta_(std::move(beta)),
        gate_(std::move(gate)),
        gate_low_(std::move(gate_low)),
        read_(std::move(read)) {}

  Status project(B& backend, const Weights& weights, const Tensor& in) {
    const std::uint32_t keys = shape_.delta.key_heads * shape_.delta.key_width;
    const Job jobs[] = {
        {.weight = &weights.query, .bias = nullptr, .out = &mixed_},
        {.weight = &weights.key, .bias = nullptr, .out = &mixed_, .first_column = keys},
        {.weight = &weights.value, .bias = nullptr, .out = &mixed_, .first_column = 2 * keys},
        {.weight = &weights.beta, .bias = nullptr, .out = &beta_},
        {.weight = &weights.decay_down, .bias = nullptr, .out = &decay_low_},
        {.weight = &weights.gate_down, .bias = nullptr, .out = &gate_low_}};
    ZLLM_TRY(backend.linear(in, jobs, backend::LinearOutput::replace));
    const Job decay[] = {{.weight = &weights.decay_up, .bias = nullptr, .out = &decay_}};
    ZLLM_TRY(backend.linear(decay_low_, decay, backend::LinearOutput::replace));
    const Job gate[] = {{.weight = &weights.gate_up, .bias = nullptr, .out = &gate_}};
    return backend.linear(gate_low_, gate, backend::LinearOutput::replace);
  }

  DeltaShape shape_;
  Tensor mixed_, decay_, decay_low_, beta_, gate_, gate_low_, read_;
};

}  // namespace zllm::runtime::block
