#pragma once

#include <algorithm>

#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/capability/gqa.h>
#include <zllm/conformance/attention_data.h>
#include <zllm/conformance/harness-inl.h>

namespace zllm::conformance {

template <backend::GqaBackend B>
Result<Deviation> run(B& backend, const Case& one, const GqaCase& gqa) {
  ZLLM_TRY(const GqaData data, gqa_data(one, gqa));
  const attention::gqa::Spec& spec = gqa.spec;
  const std::size_t query_width = std::size_t{spec.query_heads} * spec.head;
  const std::size_t key_width = std::size_t{spec.kv_heads} * spec.head;
  const PageTables pages(data.sequences, B::kPageTokens);
  ZLLM_TRY(auto cache, cache_of(backend, {.heads = spec.kv_heads, .width = spec.head},
                                kv_type(one.encoding), pages));
  std::vector<float> values;
  for (const RoundParts& round : {data.sequences.history(), data.sequences.measured()}) {
    if (round.empty()) {
      continue;
    }
    const auto tensor = [&](const std::vector<float>& all, std::size_t columns) {
      return tensor_of(backend, data.sequences.of(all, round), columns);
    };
    ZLLM_TRY(const auto queries, tensor(data.queries, query_width));
    ZLLM_TRY(const auto keys, tensor(data.keys, key_width));
    ZLLM_TRY(const auto value_rows, tensor(data.values, key_width));
    ZLLM_TRY(auto out, empty_tensor(backend, row_count(round), query_width));
    ZLLM_TRY(
        backend.attend(cache, kPlane, spec, pages.segments(round), queries, keys, value_rows, out));
    ZLLM_TRY(values, values_of(backend, out, row_count(round) * query_width));
  }
  return compare(values, data.expected);
}

inline backend::LatentUpViews up_views(const std::vector<Matrix>& up) {
  backend::LatentUpViews views;
  if (up.size() == 1) {
    views.fused = up.front().view();
  } else {
    views.keys_transposed = up[0].view();
    views.values = up[1].view();
  }
  return views;
}

// One round of rows; `selection` holds positions of its rows, or is null.
template <backend::MlaBackend B>
Result<std::vector<float>> latent_round(B& backend, const LatentData& data,
                                        const LatentCase& latent, const RoundParts& round,
                                        std::span<const backend::PagedSegment> segments,
                                        const typename B::LatentUp& up,
                                        typename B::PagedCache& cache, bool is_selected) {
  const attention::mla::Spec& spec = latent.spec;
  const std::size_t width = std::size_t{spec.heads} * spec.value;
  const std::size_t rows = row_count(round);
  const auto tensor = [&](const std::vector<float>& all, std::size_t columns) {
    return tensor_of(backend, data.sequences.of(all, round), columns);
  };
  ZLLM_TRY(const auto queries,
           tensor(data.queries, spec.heads * (std::size_t{spec.nope} + spec.rope)));
  ZLLM_TRY(const auto latents, tensor(data.latents, spec.latent));
  ZLLM_TRY(const auto keys,
           spec.rope == 0 ? empty_tensor(backend, rows, 1) : tensor(data.shared_keys, spec.rope));
  ZLLM_TRY(auto out, empty_tensor(backend, rows, width));
  const backend::LatentInputs<typename B::Tensor> inputs = {
      .queries = &queries, .latents = &latents, .shared_keys = spec.rope == 0 ? nullptr : &keys};
  if constexpr (backend::DsaBackend<B>) {
    if (is_selected) {
      ZLLM_TRY(auto selection,
               backend.selection(static_cast<std::uint32_t>(rows), latent.selected));
      ZLLM_TRY(backend.write_selection(data.selection, selection));
      ZLLM_TRY(backend.attend_selected(cache, kPlane, spec, segments, selection, inputs, up, out));
      return values_of(backend, out, rows * width);
    }
  }
  ZLLM_TRY(backend.attend_latent(cache, kPlane, spec, segments, inputs, up, out));
  return values_of(backend, out, rows * width);
}

template <backend::MlaBackend B>
Result<Deviation> run(B& backend, const Case& one, const LatentCase& latent) {
  ZLLM_TRY(const LatentData data, latent_data(one, latent));
  const attention::mla::Spec& spec = latent.spec;
  const PageTables pages(data.sequences, B::kPageTokens);
  const backend::PlaneSpec plane = {.kind = backend::PlaneKind::latents,
                                    .width = spec.latent + spec.rope};
  const backend::KvType type =
      one.op == backend::Op::latent_attention ? kv_type(one.encoding) : backend::KvType::f32;
  ZLLM_TRY(auto cache, cache_of(backend, plane, type, pages));
  ZLLM_TRY(const auto up, backend.load_latent_up(up_views(data.up), spec));
  std::vector<float> values;
  for (const RoundParts& round : {data.sequences.history(), data.sequences.measured()}) {
    if (!round.empty()) {
      const bool is_selected = latent.selected != 0 && row_count(round) == data.selection.rows() &&
                               round.front().position == data.sequences.measured().front().position;
      ZLLM_TRY(values, latent_round(backend, data, latent, round, pages.segments(round), up, cache,
                                    is_selected));
    }
  }
  return compare(values, data.expected);
}

}  // namespace zllm::conformance
