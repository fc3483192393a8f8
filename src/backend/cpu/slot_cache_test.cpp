#include <gtest/gtest.h>

#include <zllm/backend/cpu/paged_cache.h>
#include <zllm/backend/cpu/slot_cache.h>

namespace zllm::backend::cpu {
namespace {

// A stage may have no attention layer, or no recurrent one.
TEST(SlotCache, HasSlotsOfNothingWithoutPlanes) {
  auto slots = SlotCache::make({.planes = {}, .slots = 3});
  ASSERT_TRUE(slots.ok()) << slots.error().message;
  EXPECT_EQ(SlotCache::slot_bytes(slots->spec()), 0u);
  EXPECT_TRUE(slots->states(SlotId(2)).empty());
}

TEST(PagedCache, HasPagesOfNothingWithoutPlanes) {
  auto pages = PagedCache::make({.planes = {}, .pages = 3});
  ASSERT_TRUE(pages.ok()) << pages.error().message;
  EXPECT_EQ(PagedCache::page_bytes(pages->spec()), 0u);
  EXPECT_TRUE(pages->page(PageId(2)).empty());
}

}  // namespace
}  // namespace zllm::backend::cpu
