#include <gtest/gtest.h>

#include <vector>

#include <zllm/engine/request_queue.h>

namespace zllm::engine {
namespace {

std::vector<std::uint64_t> drain(RequestQueue& queue) {
  std::vector<std::uint64_t> order;
  while (const auto next = queue.front()) {
    order.push_back(*next);
    queue.pop();
  }
  return order;
}

TEST(RequestQueue, ServesOneCallerInOrderOfArrival) {
  RequestQueue queue;
  for (std::uint64_t id = 1; id <= 5; ++id) {
    queue.push(id, "a", 0);
  }
  EXPECT_EQ(queue.size(), 5u);
  EXPECT_TRUE(queue.remove(3));
  EXPECT_FALSE(queue.remove(3));
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{1, 2, 4, 5}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(RequestQueue, ServesHigherPrioritiesFirst) {
  RequestQueue queue;
  queue.push(1, "a", 0);
  queue.push(2, "b", -5);
  queue.push(3, "a", 7);
  queue.push(4, "b", 0);
  EXPECT_EQ(queue.front_priority(), 7);
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{3, 1, 4, 2}));
}

// One caller with many requests does not keep another waiting.
TEST(RequestQueue, SharesTokensByWeight) {
  RequestQueue queue({{"heavy", 3.0}});
  for (std::uint64_t id = 0; id < 400; ++id) {
    queue.push(id, id % 2 == 0 ? "heavy" : "light", 0);
  }
  std::size_t heavy = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t id = *queue.front();
    queue.pop();
    queue.charge(id % 2 == 0 ? "heavy" : "light", 50);
    heavy += id % 2 == 0 ? 1 : 0;
  }
  EXPECT_GE(heavy, 74u);
  EXPECT_LE(heavy, 76u);
}

TEST(RequestQueue, ACallerThatWasAwayIsOwedNothing) {
  RequestQueue queue;
  queue.push(1, "late", 0);
  queue.pop();
  for (std::uint64_t id = 2; id < 12; ++id) {
    queue.push(id, "busy", 0);
    queue.pop();
    queue.charge("busy", 1000);
  }
  for (std::uint64_t id = 20; id < 30; ++id) {
    queue.push(id, id % 2 == 0 ? "busy" : "late", 0);
  }
  std::size_t late_of_first_four = 0;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t id = *queue.front();
    queue.pop();
    queue.charge(id % 2 == 0 ? "busy" : "late", 1000);
    late_of_first_four += id % 2 == 1 ? 1 : 0;
  }
  EXPECT_LE(late_of_first_four, 3u);
  EXPECT_GE(late_of_first_four, 2u);
}

}  // namespace
}  // namespace zllm::engine
