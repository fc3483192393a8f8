#pragma once

#include <cstdint>
#include <span>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/any_model.h>

namespace zllm::runtime {

// Whole pages on every backend, and whole pools of keys.
constexpr std::uint64_t kTileRows = 256;

// A snapshot of `rows` rows, a multiple of kTileRows, out of one model's snapshots of kTileRows and
// of twice as many rows: the pages of the second over and over, each time with other low bits, so
// that no two rows score the same; then its slot, if any.
Result<SequenceSnapshot> tile_rows(const SequenceSnapshot& one, const SequenceSnapshot& two,
                                   std::uint64_t rows);

// A snapshot as deep as asked, rounded down to a multiple of kTileRows, of which no more than the
// given tokens, 2 * kTileRows of them, are computed. For measuring: what it holds is no text.
Result<SequenceSnapshot> synthetic_rows(AnyModel& model, std::span<const TokenId> tokens,
                                        std::uint64_t rows);

}  // namespace zllm::runtime
