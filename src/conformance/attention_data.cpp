#include <zllm/conformance/attention_data.h>

#include <algorithm>

#include <zllm/attention/gqa/reference.h>
#include <zllm/attention/mla/reference.h>

namespace zllm::conformance {
namespace {

namespace mla = attention::mla;
using attention::sparse::Selection;

// A_h, then B_h, of every head.
std::vector<float> fused(const mla::Spec& spec, const std::vector<Matrix>& up) {
  if (up.size() == 1) {
    return up.front().values;
  }
  const std::vector<float>& keys = up[0].values;
  const std::vector<float>& values = up[1].values;
  std::vector<float> all;
  for (std::size_t head = 0; head < spec.heads; ++head) {
    for (std::size_t n = 0; n < spec.nope; ++n) {
      for (std::size_t c = 0; c < spec.latent; ++c) {
        all.push_back(keys[(head * spec.latent + c) * spec.nope + n]);
      }
    }
    const std::size_t size = std::size_t{spec.value} * spec.latent;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(head * size);
    all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return all;
}

std::vector<Matrix> random_up(Source& source, encoding::Encoding encoding,
                              const LatentCase& latent) {
  const mla::Spec& spec = latent.spec;
  const std::uint64_t heads = spec.heads;
  std::vector<Matrix> up;
  if (latent.is_fused) {
    up.push_back(random_matrix(source, encoding, heads * (spec.nope + spec.value), spec.latent));
  } else {
    up.push_back(random_matrix(source, encoding, heads * spec.latent, spec.nope));
    up.push_back(random_matrix(source, encoding, heads * spec.value, spec.latent));
  }
  return up;
}

// For every measured row `count` of the positions that it sees, or all where they are fewer.
Selection random_selection(Source& source, const Sequences& sequences, std::uint32_t count) {
  Selection selection;
  for (const RoundPart& part : sequences.measured()) {
    for (std::uint64_t position = part.position; position < part.position + part.rows; ++position) {
      std::vector<std::uint32_t> row;
      const auto visible = static_cast<std::uint32_t>(position + 1);
      for (std::uint32_t j = 0; j < visible; ++j) {
        const std::uint32_t wanted =
            count - std::min<std::uint32_t>(count, static_cast<std::uint32_t>(row.size()));
        if (source.below(visible - j) < wanted) {
          row.push_back(j);
        }
      }
      selection.append_row(row);
    }
  }
  return selection;
}

Selection part_of(const Selection& all, const RoundPart& part) {
  Selection some;
  for (std::size_t row = 0; row < part.rows; ++row) {
    some.append_row(all.row(part.first_row + row));
  }
  return some;
}

}  // namespace

Result<GqaData> gqa_data(const Case& one, const GqaCase& gqa) {
  Source source(one.seed);
  const attention::gqa::Spec& spec = gqa.spec;
  GqaData data{.sequences = Sequences(gqa.segments),
               .queries = {},
               .keys = {},
               .values = {},
               .expected = {}};
  const std::size_t tokens = data.sequences.tokens();
  data.queries = source.values(tokens * spec.query_heads * spec.head);
  data.keys = source.values(tokens * spec.kv_heads * spec.head);
  data.values = source.values(tokens * spec.kv_heads * spec.head);
  const auto keys = stored(data.keys, kv_type(one.encoding));
  const auto values = stored(data.values, kv_type(one.encoding));
  for (const RoundPart& part : data.sequences.measured()) {
    const std::vector<float> queries = data.sequences.of(data.queries, {part});
    std::vector<float> output(queries.size());
    ZLLM_TRY(attention::gqa::attend(spec,
                                    {.queries = queries,
                                     .query_positions = positions(part),
                                     .keys = data.sequences.of(keys, part.sequence),
                                     .values = data.sequences.of(values, part.sequence)},
                                    output));
    data.expected.insert(data.expected.end(), output.begin(), output.end());
  }
  return data;
}

Result<LatentData> latent_data(const Case& one, const LatentCase& latent) {
  Source source(one.seed);
  const mla::Spec& spec = latent.spec;
  const bool has_cache = one.op == backend::Op::latent_attention;
  const encoding::Encoding plain = encoding::Encoding::f32;
  LatentData data{.sequences = Sequences(latent.segments),
                  .queries = {},
                  .latents = {},
                  .shared_keys = {},
                  .up = random_up(source, has_cache ? plain : one.encoding, latent),
                  .selection = {},
                  .expected = {}};
  const std::size_t tokens = data.sequences.tokens();
  data.queries = source.values(tokens * spec.heads * (std::size_t{spec.nope} + spec.rope));
  data.latents = source.values(tokens * spec.latent);
  data.shared_keys = source.values(tokens * spec.rope);
  if (latent.selected != 0) {
    data.selection = random_selection(source, data.sequences, latent.selected);
  }
  const backend::KvType type = kv_type(has_cache ? one.encoding : plain);
  const auto latents = stored(data.latents, type);
  const auto keys = stored(data.shared_keys, type);
  const std::vector<float> up = fused(spec, data.up);
  for (const RoundPart& part : data.sequences.measured()) {
    const std::vector<float> queries = data.sequences.of(data.queries, {part});
    std::vector<float> output(std::size_t{part.rows} * spec.heads * spec.value);
    const Selection selection = latent.selected != 0 ? part_of(data.selection, part) : Selection();
    ZLLM_TRY(mla::attend_absorbed(
        spec,
        {.queries = queries,
         .query_positions = positions(part),
         .latents = data.sequences.of(latents, part.sequence),
         .shared_keys =
             spec.rope == 0 ? std::span<const float>() : data.sequences.of(keys, part.sequence),
         .up = up,
         .selection = latent.selected != 0 ? &selection : nullptr},
        output));
    data.expected.insert(data.expected.end(), output.begin(), output.end());
  }
  return data;
}

}  // namespace zllm::conformance
