#pragma once

#include <concepts>
#include <span>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/backend/capability/slots.h>
#include <zllm/norm/spec.h>

namespace zllm::backend {

template <class Tensor>
struct DeltaRuleInputs {
  const Tensor *mixed = nullptr;  // [rows, channels]: queries, keys, values before the convolution
  const Tensor *decay = nullptr;  // [rows, decays], before the gate
  const Tensor *beta = nullptr;   // [rows, value_heads], before the sigmoid
};

// Vectors. The taps are those of queries, keys and values: [channels of the part, taps].
template <class Weight>
struct DeltaRuleWeights {
  const Weight *query_taps = nullptr;
  const Weight *key_taps = nullptr;
  const Weight *value_taps = nullptr;
  const Weight *rates = nullptr;
  const Weight *decay_bias = nullptr;
};

// The gated delta rule with its short convolution (attention/delta_rule/reference.h): delta
// attention and gated delta nets. Writes [rows, value_heads * value_width]. A row's bits do not
// depend on how the rows before it were cut into rounds.
template <class B>
concept DeltaRuleBackend =
    SlotBackend<B> && requires(B& b, typename B::SlotCache& slots, typename B::Tensor& t,
                               const typename B::Tensor& ct, const typename B::Weight& w,
                               std::span<const SlotSegment> segments) {
      {
        b.delta_rule(slots, SlotPlaneId{}, attention::delta_rule::Spec{}, segments,
                     DeltaRuleInputs<typename B::Tensor>{}, DeltaRuleWeights<typename B::Weight>{},
                     t)
      } -> std::same_as<Status>;
      // A gated flavour of norm/reference.h over groups of the weight's length: in, weight, gate.
      { b.gated_norm(norm::Spec{}, ct, w, ct, t) } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
