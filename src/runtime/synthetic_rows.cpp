#include <zllm/runtime/synthetic_rows.h>

#include <algorithm>
#include <cstddef>
#include <random>

#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/runtime/prefill.h>

namespace zllm::runtime {
namespace {

// Of every second byte: the low end of a half and bits of a float's mantissa, never an exponent.
constexpr std::uint32_t kLowBits = 0x3f;

void disturb(std::span<std::byte> page, std::uint32_t seed) {
  std::minstd_rand random(seed);
  for (std::size_t i = 0; i < page.size(); i += 2) {
    page[i] ^= static_cast<std::byte>(random() >> 8U & kLowBits);
  }
}

Result<SequenceSnapshot> extend(AnyModel& model, SequenceId id, std::span<const TokenId> tokens) {
  ZLLM_TRY(prefill(model, id, tokens, PrefillLogits::none));
  return model.states().export_state(id);
}

Result<SequenceSnapshot> compute(AnyModel& model, SequenceId id, std::span<const TokenId> tokens,
                                 std::uint64_t rows) {
  ZLLM_TRY(const SequenceSnapshot one, extend(model, id, tokens.first(kTileRows)));
  ZLLM_TRY(const SequenceSnapshot two, extend(model, id, tokens.subspan(kTileRows)));
  return tile_rows(one, two, rows / kTileRows * kTileRows);
}

}  // namespace

Result<SequenceSnapshot> tile_rows(const SequenceSnapshot& one, const SequenceSnapshot& two,
                                   std::uint64_t rows) {
  const bool is_pair = one.rows == kTileRows && two.rows == 2 * kTileRows;
  ZLLM_CHECK(is_pair && rows % kTileRows == 0, "rows of tiles");
  ZLLM_CHECK(two.bytes.size() >= one.bytes.size(), "bytes of tiles");
  const std::size_t tile = two.bytes.size() - one.bytes.size();
  ZLLM_CHECK(tile <= one.bytes.size(), "bytes of tiles");
  const std::span<const std::byte> slot = std::span(two.bytes).subspan(2 * tile);
  const auto pages = checked_multiply(static_cast<std::size_t>(rows / kTileRows), tile);
  const auto bytes = pages ? checked_add(*pages, slot.size()) : std::nullopt;
  if (!bytes) {
    return Error{Code::invalid_argument, concat("a snapshot of ", rows, " rows is too large")};
  }
  SequenceSnapshot all{.rows = rows, .expected_rows = two.expected_rows, .bytes = {}};
  all.bytes.resize(*bytes);
  const std::span<std::byte> out(all.bytes);
  for (std::uint32_t i = 0; i < rows / kTileRows; ++i) {
    const std::span<std::byte> to = out.subspan(i * tile, tile);
    std::ranges::copy(std::span(two.bytes).subspan(i % 2 * tile, tile), to.begin());
    if (i >= 2) {
      disturb(to, i);
    }
  }
  std::ranges::copy(slot, out.subspan(*pages).begin());
  return all;
}

Result<SequenceSnapshot> synthetic_rows(AnyModel& model, std::span<const TokenId> tokens,
                                        std::uint64_t rows) {
  ZLLM_CHECK(tokens.size() == 2 * kTileRows, "tokens of synthetic rows");
  ZLLM_TRY(const SequenceId id, model.states().create(0));
  auto snapshot = compute(model, id, tokens, rows);
  ZLLM_TRY(model.states().release(id));
  return snapshot;
}

}  // namespace zllm::runtime
