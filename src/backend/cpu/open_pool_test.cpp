#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/backend/cpu/open_pool.h>

namespace zllm::backend::cpu {
namespace {

constexpr OpenPoolSpec kSpec{.width = 3, .pool = 4};

// Rows [key | gate] of rising values.
std::vector<float> rows_of(std::size_t count) {
  std::vector<float> rows(count * 2 * kSpec.width);
  std::iota(rows.begin(), rows.end(), 1.0F);
  return rows;
}

OpenPoolRows part(const std::vector<float>& rows, std::size_t first, std::size_t count) {
  const std::size_t stride = 2 * kSpec.width;
  const float *const keys = rows.data() + first * stride;
  return {.keys = keys,
          .gates = keys + kSpec.width,
          .key_stride = stride,
          .gate_stride = stride,
          .count = count};
}

TEST(OpenPool, KeepsTheRowsOfThePoolInProgress) {
  const auto rows = rows_of(6);
  std::vector<float> state(open_pool_state_width(kSpec), -1.0F);
  advance_open_pool(kSpec, {}, part(rows, 0, 6), state);
  EXPECT_EQ(open_pool_count(kSpec, state), 2U);
  std::vector<float> expected(rows.begin() + 4 * 6, rows.end());
  expected.resize(3 * 6, 0.0F);
  expected.push_back(2.0F);
  EXPECT_EQ(state, expected);
}

TEST(OpenPool, AnyCutIsTheWhole) {
  const auto rows = rows_of(13);
  std::vector<float> before(open_pool_state_width(kSpec));
  std::vector<float> pieces(before.size());
  std::vector<float> whole(before.size());
  for (std::size_t total = 0; total <= 13; ++total) {
    advance_open_pool(kSpec, {}, part(rows, 0, total), whole);
    EXPECT_EQ(open_pool_count(kSpec, whole), total % kSpec.pool);
    for (std::size_t split = 0; split <= total; ++split) {
      advance_open_pool(kSpec, {}, part(rows, 0, split), before);
      advance_open_pool(kSpec, before, part(rows, split, total - split), pieces);
      EXPECT_EQ(pieces, whole) << split << " of " << total;
    }
  }
}

TEST(OpenPool, ReplayTakesTheJournal) {
  const auto backend = std::move(CpuBackend::create({.threads = 1}).value());
  constexpr SlotPlaneId kPlane{1};
  SlotCache cache = std::move(
      backend->slot_cache({.planes = {OpenPoolSpec{.width = 1, .pool = 1}, kSpec}, .slots = 3})
          .value());
  const auto rows = rows_of(3 + kJournalRows);
  advance_open_pool(kSpec, {}, part(rows, 0, 3), cache.state(SlotId{0}, kPlane));
  const auto journal = cache.journal(SlotId{2}, kPlane);
  std::copy(rows.begin() + 3 * 6, rows.end(), journal.begin());
  for (std::uint32_t count = 0; count <= kJournalRows; ++count) {
    std::vector<float> expected(open_pool_state_width(kSpec));
    advance_open_pool(kSpec, {}, part(rows, 0, 3 + count), expected);
    ASSERT_TRUE(backend->replay(cache, SlotId{0}, SlotId{2}, count).ok());
    const auto state = cache.state(SlotId{2}, kPlane);
    EXPECT_EQ(std::vector<float>(state.begin(), state.end()), expected) << count;
  }
}

}  // namespace
}  // namespace zllm::backend::cpu
