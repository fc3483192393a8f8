#pragma once

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/capability/rotary.h>
#include <zllm/conformance/dense_data.h>
#include <zllm/conformance/deviation.h>
#include <zllm/conformance/harness-inl.h>

namespace zllm::conformance {

template <backend::Backend B>
Result<Deviation> run(B& backend, const Case& one, const EmbedCase& embed) {
  const EmbedData data = embed_data(one, embed);
  ZLLM_TRY(const auto table, backend.load_matrix(data.table.view(), {.as_table = true}));
  ZLLM_TRY(auto out, empty_tensor(backend, embed.rows, embed.columns));
  ZLLM_TRY(backend.embed(table, data.tokens, out));
  ZLLM_TRY(const auto values, values_of(backend, out, data.expected.size()));
  return compare(values, data.expected);
}

template <backend::Backend B>
Result<Deviation> run(B& backend, const Case& one, const LinearCase& linear) {
  const LinearData data = linear_data(one, linear);
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  ZLLM_TRY(const Weight weight, backend.load_matrix(data.weight.view(), {.as_product = true}));
  ZLLM_TRY(const Weight bias,
           vector_of(backend, data.bias.empty() ? std::span(data.input).first(1)
                                                : std::span<const float>(data.bias)));
  ZLLM_TRY(const Tensor in, tensor_of(backend, data.input, linear.columns));
  ZLLM_TRY(Tensor out, tensor_of(backend, data.before, data.width));
  const backend::LinearJob<Tensor, Weight> job = {.weight = &weight,
                                                  .bias = data.bias.empty() ? nullptr : &bias,
                                                  .out = &out,
                                                  .first_column = linear.first_column};
  ZLLM_TRY(backend.linear(
      in, {&job, 1},
      linear.accumulates ? backend::LinearOutput::accumulate : backend::LinearOutput::replace));
  ZLLM_TRY(const auto values, values_of(backend, out, data.expected.size()));
  return compare(values, data.expected);
}

template <backend::Backend B>
Status normalise(B& backend, const NormCase& norm, const NormData& data,
                 const typename B::Tensor& in, typename B::Tensor& out) {
  ZLLM_TRY(const auto weight, vector_of(backend, data.weight));
  if constexpr (backend::DsaBackend<B>) {
    if (norm::has_bias(norm.spec.flavour)) {
      ZLLM_TRY(const auto bias, vector_of(backend, data.bias));
      return backend.layer_norm(in, weight, bias, norm.spec.epsilon, out);
    }
  }
  if constexpr (backend::DeltaRuleBackend<B>) {
    if (norm::has_gate(norm.spec.flavour)) {
      ZLLM_TRY(const auto gate,
               tensor_of(backend, data.gate, std::size_t{norm.groups} * norm.columns));
      return backend.gated_norm(norm.spec, in, weight, gate, out);
    }
  }
  return backend.norm(in, weight, norm.spec.epsilon, out);
}

template <backend::Backend B>
Result<Deviation> run(B& backend, const Case& one, const NormCase& norm) {
  const NormData data = norm_data(one, norm);
  const std::size_t columns = std::size_t{norm.groups} * norm.columns;
  ZLLM_TRY(auto in, tensor_of(backend, data.rows, columns));
  ZLLM_TRY(auto out, empty_tensor(backend, norm.rows, columns));
  ZLLM_TRY(normalise(backend, norm, data, in, norm.is_in_place ? in : out));
  ZLLM_TRY(const auto values,
           values_of(backend, norm.is_in_place ? in : out, data.expected.size()));
  return compare(values, data.expected);
}

template <backend::RotaryBackend B>
Result<Deviation> run(B& backend, const Case& one, const RotateCase& rotate) {
  const RotateData data = rotate_data(one, rotate);
  ZLLM_TRY(auto heads,
           tensor_of(backend, data.heads, std::size_t{rotate.heads} * rotate.spec.head));
  ZLLM_TRY(const auto cosines, tensor_of(backend, data.cosines, rotate.spec.rotated / 2));
  ZLLM_TRY(const auto sines, tensor_of(backend, data.sines, rotate.spec.rotated / 2));
  ZLLM_TRY(backend.rotate(heads, rotate.spec, cosines, sines));
  ZLLM_TRY(const auto values, values_of(backend, heads, data.expected.size()));
  return compare(values, data.expected);
}

template <backend::Backend B>
Result<Deviation> run(B& backend, const Case& one, const ActivationCase& activation) {
  const ActivationData data = activation_data(one, activation);
  ZLLM_TRY(const auto gate, tensor_of(backend, data.gate, activation.columns));
  ZLLM_TRY(const auto up, tensor_of(backend, data.up, activation.columns));
  ZLLM_TRY(auto out, empty_tensor(backend, activation.rows, activation.columns));
  ZLLM_TRY(backend.activate(activation.spec, gate, up, out));
  ZLLM_TRY(const auto values, values_of(backend, out, data.expected.size()));
  return compare(values, data.expected);
}

}  // namespace zllm::conformance
