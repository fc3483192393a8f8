#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include <zllm/engine/event_buffer.h>

namespace zllm::engine {
namespace {

TokenChosen token(TokenId id) { return {.choice = 0, .token = id}; }

TEST(EventBuffer, GivesEventsInOrderAndNothingAfterTheEnd) {
  EventBuffer buffer(4, std::make_shared<Signal>());
  EXPECT_FALSE(buffer.try_next());
  buffer.push(PromptRead{.prompt_tokens = 3});
  buffer.push(token(5));
  buffer.push(Ended{});
  EXPECT_TRUE(std::holds_alternative<PromptRead>(*buffer.next()));
  EXPECT_EQ(std::get<TokenChosen>(*buffer.try_next()).token, 5);
  EXPECT_TRUE(std::holds_alternative<Ended>(*buffer.next()));
  EXPECT_FALSE(buffer.next());
  EXPECT_FALSE(buffer.try_next());
}

TEST(EventBuffer, SignalsWhenAFullBufferHasRoom) {
  const auto signal = std::make_shared<Signal>();
  EventBuffer buffer(2, signal);
  buffer.push(token(1));
  EXPECT_EQ(buffer.room(), 1u);
  buffer.push(token(2));
  buffer.push(token(3));
  EXPECT_EQ(buffer.room(), 0u);
  buffer.next();
  EXPECT_EQ(buffer.room(), 0u);
  buffer.next();
  EXPECT_EQ(buffer.room(), 1u);
  signal->wait({});  // hangs if nothing was raised
}

TEST(EventBuffer, NotifiesWhenItStopsBeingEmpty) {
  EventBuffer buffer(8, std::make_shared<Signal>());
  int first = 0;
  int second = 0;
  buffer.set_notifier([&] { ++first; });
  EXPECT_EQ(first, 0);
  buffer.push(token(1));
  buffer.push(token(2));
  EXPECT_EQ(first, 1);
  buffer.set_notifier([&] { ++second; });
  EXPECT_EQ(second, 1);
  buffer.next();
  buffer.next();
  buffer.push(token(3));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  buffer.set_notifier({});
  buffer.next();
  buffer.push(token(4));
  EXPECT_EQ(second, 2);
}

TEST(EventBuffer, TellsOfCancelledChoicesOnceAndOfALostReader) {
  const auto buffer = std::make_shared<EventBuffer>(8, std::make_shared<Signal>());
  auto stream = make_stream(buffer);
  EXPECT_TRUE(buffer->take_cancelled_choices().empty());
  stream->cancel_choice(2);
  stream->cancel_choice(2);
  stream->cancel_choice(0);
  EXPECT_EQ(buffer->take_cancelled_choices(), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_TRUE(buffer->take_cancelled_choices().empty());
  EXPECT_FALSE(buffer->is_cancelled());
  stream.reset();
  EXPECT_TRUE(buffer->is_cancelled());
}

TEST(EventBuffer, WakesAReaderThatWaits) {
  EventBuffer buffer(2, std::make_shared<Signal>());
  std::vector<TokenId> seen;
  std::thread reader([&] {
    while (const auto event = buffer.next()) {
      if (const auto *const chosen = std::get_if<TokenChosen>(&*event)) {
        seen.push_back(chosen->token);
      }
    }
  });
  for (TokenId id = 0; id < 100; ++id) {
    buffer.push(token(id));
  }
  buffer.push(Ended{});
  reader.join();
  EXPECT_EQ(seen.size(), 100u);
}

}  // namespace
}  // namespace zllm::engine
