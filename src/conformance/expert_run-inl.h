#pragma once

#include <zllm/backend/capability/moe.h>
#include <zllm/conformance/deviation.h>
#include <zllm/conformance/expert_data.h>
#include <zllm/conformance/harness-inl.h>

namespace zllm::conformance {

template <backend::MoeBackend B>
Result<Deviation> run_experts(B& backend, const ExpertData& data, std::uint32_t rows) {
  ZLLM_TRY(const auto experts, backend.load_experts(data.matrices.views()));
  ZLLM_TRY(auto routing, backend.routing(rows, data.router));
  ZLLM_TRY(const auto logits, tensor_of(backend, data.logits, data.router.experts));
  ZLLM_TRY(const auto bias, vector_of(backend, data.bias.empty() ? std::span(data.logits).first(1)
                                                                 : std::span(data.bias)));
  ZLLM_TRY(backend.route(data.router, logits, data.bias.empty() ? nullptr : &bias, routing));
  const std::size_t columns = data.input.size() / rows;
  ZLLM_TRY(const auto in, tensor_of(backend, data.input, columns));
  ZLLM_TRY(auto out, data.before.empty() ? empty_tensor(backend, rows, columns)
                                         : tensor_of(backend, data.before, columns));
  ZLLM_TRY(backend.experts(
      in, experts, routing, data.activation,
      data.before.empty() ? backend::LinearOutput::replace : backend::LinearOutput::accumulate,
      out));
  if (!data.gates.empty()) {
    ZLLM_TRY(const auto shared, tensor_of(backend, data.shared, columns));
    ZLLM_TRY(const auto gates, tensor_of(backend, data.gates, 1));
    ZLLM_TRY(backend.add_gated(shared, gates, out));
  }
  ZLLM_TRY(const auto values, values_of(backend, out, data.expected.size()));
  return compare(values, data.expected);
}

template <backend::MoeBackend B>
Result<Deviation> run(B& backend, const Case& one, const RouteCase& route) {
  ZLLM_TRY(const ExpertData data, route_data(one, route));
  return run_experts(backend, data, route.rows);
}

template <backend::MoeBackend B>
Result<Deviation> run(B& backend, const Case& one, const ExpertsCase& experts) {
  ZLLM_TRY(const ExpertData data, experts_data(one, experts));
  return run_experts(backend, data, experts.rows);
}

}  // namespace zllm::conformance
