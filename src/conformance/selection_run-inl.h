#pragma once

#include <zllm/backend/capability/dsa.h>
#include <zllm/conformance/attention_data.h>
#include <zllm/conformance/harness-inl.h>

namespace zllm::conformance {

// Runs the history, then the measured rows, with what a round's operation is, and compares the last
// selection.
template <backend::DsaBackend B, class Select>
Result<Deviation> run_selection(B& backend, const SelectionData& data,
                                const attention::sparse::IndexerSpec& spec, Select select) {
  const PageTables pages(data.sequences, B::kPageTokens);
  for (const RoundParts& round : {data.sequences.history(), data.sequences.measured()}) {
    if (round.empty()) {
      continue;
    }
    const auto rows = static_cast<std::uint32_t>(row_count(round));
    const auto tensor = [&](const std::vector<float>& all, std::size_t columns) {
      return all.empty() ? empty_tensor(backend, rows, 1)
                         : tensor_of(backend, data.sequences.of(all, round), columns);
    };
    ZLLM_TRY(const auto queries, tensor(data.queries, std::size_t{spec.heads} * spec.width));
    ZLLM_TRY(const auto keys, tensor(data.keys, spec.width));
    ZLLM_TRY(const auto weights, tensor(data.weights, spec.heads));
    ZLLM_TRY(const auto gates, tensor(data.gates, spec.width));
    const backend::IndexInputs<typename B::Tensor> inputs = {
        .queries = &queries,
        .keys = &keys,
        .weights = &weights,
        .gates = data.gates.empty() ? nullptr : &gates};
    // Pools and their open tail.
    ZLLM_TRY(auto selection, backend.selection(rows, spec.top_k + data.pool));
    ZLLM_TRY(select(round, pages.segments(round), inputs, selection));
    if (round.front().position == data.sequences.measured().front().position &&
        rows == data.rows.size()) {
      ZLLM_TRY(backend.submit().wait());
      ZLLM_TRY(const auto result, backend.read_selection(selection));
      return compare(result, data);
    }
  }
  return Error{Code::internal, "no measured rows"};
}

template <backend::DsaBackend B>
Result<Deviation> run(B& backend, const Case& one, const SelectKeysCase& select) {
  ZLLM_TRY(const SelectionData data, selection_data(one, select));
  const PageTables pages(data.sequences, B::kPageTokens);
  ZLLM_TRY(auto cache,
           cache_of(backend, {.kind = backend::PlaneKind::index_keys, .width = select.spec.width},
                    kv_type(one.encoding), pages));
  return run_selection(
      backend, data, select.spec,
      [&](const RoundParts&, const auto& segments, const auto& inputs, auto& selection) -> Status {
        return backend.select_keys(cache, kPlane, select.spec, segments, inputs, selection);
      });
}

template <backend::KpoolBackend B>
Result<Deviation> run(B& backend, const Case& one, const SelectPoolsCase& select) {
  ZLLM_TRY(const SelectionData data, selection_data(one, select));
  const attention::sparse::KpoolSpec& spec = select.spec;
  const std::uint32_t width = spec.indexer.width;
  const PageTables pages(data.sequences, B::kPageTokens);
  ZLLM_TRY(
      auto cache,
      cache_of(backend, {.kind = backend::PlaneKind::index_keys, .width = width, .pool = spec.pool},
               kv_type(one.encoding), pages));
  ZLLM_TRY(auto slots,
           backend.slot_cache({.planes = {backend::OpenPoolSpec{.width = width, .pool = spec.pool}},
                               .slots = slot_capacity(data.sequences)}));
  ZLLM_TRY(const auto bias, vector_of(backend, data.position_bias));
  return run_selection(backend, data, spec.indexer,
                       [&](const RoundParts& round, const auto& segments, const auto& inputs,
                           auto& selection) -> Status {
                         return backend.select_pools({.pages = &cache,
                                                      .keys = kPlane,
                                                      .slots = &slots,
                                                      .open_pool = backend::SlotPlaneId{0}},
                                                     spec, segments, slot_segments(round), inputs,
                                                     bias, selection);
                       });
}

}  // namespace zllm::conformance
