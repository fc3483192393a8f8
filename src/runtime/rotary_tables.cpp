#include <zllm/runtime/rotary_tables.h>

#include <zllm/rope/reference.h>
#include <zllm/runtime/any_model.h>

namespace zllm::runtime {

Result<RotaryTables> rotary_tables(const rope::Spec& spec, const Round& round,
                                   std::span<const std::uint64_t> lengths) {
  const std::size_t columns = spec.rotated / 2;
  RotaryTables tables;
  tables.cosine.resize(round.rows() * columns);
  tables.sine.resize(round.rows() * columns);
  std::size_t row = 0;
  for (std::size_t i = 0; i < round.segments.size(); ++i) {
    const Segment& segment = round.segments[i];
    ZLLM_TRY(const rope::Table table, rope::make_table(spec, lengths[i]));
    for (std::size_t k = 0; k < segment.tokens.size(); ++k, ++row) {
      rope::cos_sin(table, segment.start + k,
                    std::span(tables.cosine).subspan(row * columns, columns),
                    std::span(tables.sine).subspan(row * columns, columns));
    }
  }
  return tables;
}

std::uint64_t table_length(const ModelInfo& info, std::uint64_t expected_rows) {
  const std::uint64_t length = expected_rows == 0 ? info.limits.context : expected_rows;
  return info.rotary ? rope::table_length(*info.rotary, length) : 0;
}

}  // namespace zllm::runtime
