#include <zllm/dialect/responses/event_log.h>

#include <string>

#include <gtest/gtest.h>

namespace zllm::dialect::responses {
namespace {

Item numbered(int number) { return {.event = "e", .data = std::to_string(number)}; }

TEST(EventLog, IsReadFromAnyPlaceOn) {
  EventLog log;
  for (int i = 0; i < 5; ++i) {
    log.append(numbered(i));
  }
  EventLog::Part part = log.read(1, 2);
  ASSERT_EQ(part.events.size(), 2U);
  EXPECT_EQ(part.events[0].data, "1");
  EXPECT_FALSE(part.is_last);
  EXPECT_EQ(log.read(3, 9).events.size(), 2U);
  EXPECT_FALSE(log.read(3, 9).is_last);
  log.close();
  EXPECT_TRUE(log.read(3, 9).is_last);
  EXPECT_FALSE(log.read(3, 1).is_last);
  part = log.read(100, 9);
  EXPECT_TRUE(part.events.empty());
  EXPECT_TRUE(part.is_last);
}

TEST(EventLog, DropsAllRatherThanAPart) {
  EventLog log(2 * (sizeof(Item) + 2));
  log.append(numbered(0));
  log.append(numbered(1));
  EXPECT_FALSE(log.is_dropped());
  EXPECT_GT(log.bytes(), 0U);
  log.append(numbered(2));
  log.append(numbered(3));
  EXPECT_TRUE(log.is_dropped());
  EXPECT_TRUE(log.read(0, 9).events.empty());
  EXPECT_EQ(log.bytes(), 0U);
}

TEST(EventLog, TellsListenersOfEveryChange) {
  EventLog log;
  int told = 0;
  const std::size_t number = log.listen([&told] { ++told; });
  log.append(numbered(0));
  log.close();
  EXPECT_EQ(told, 2);
  log.unlisten(number);
  log.append(numbered(1));
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace zllm::dialect::responses
