#include <zllm/runtime/rotary_tables.h>

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

}  // namespace zllm::runtime
