#include <zllm/dialect/responses/response_store.h>

#include <string>

#include <gtest/gtest.h>

namespace zllm::dialect::responses {
namespace {

StoredResponse response(std::string body) { return {.body = std::move(body)}; }

TEST(ResponseStore, KeepsCallersApart) {
  ResponseStore store({});
  store.put("ab", "c", response("1"));
  EXPECT_FALSE(store.get("a", "bc").has_value());
  EXPECT_FALSE(store.get("", "c").has_value());
  EXPECT_FALSE(store.erase("a", "bc"));
  ASSERT_TRUE(store.get("ab", "c").has_value());
  EXPECT_EQ(store.get("ab", "c")->body, "1");
}

TEST(ResponseStore, TheOldestGoFirst) {
  ResponseStore store({.responses = 2});
  store.put("", "a", response("1"));
  store.put("", "b", response("2"));
  store.put("", "a", response("3"));  // is the newest now
  store.put("", "c", response("4"));
  EXPECT_EQ(store.count(), 2U);
  EXPECT_FALSE(store.get("", "b").has_value());
  EXPECT_EQ(store.get("", "a")->body, "3");
}

TEST(ResponseStore, BytesAreBounded) {
  constexpr std::size_t kLimit = 16384;
  ResponseStore store({.responses = 100, .bytes = kLimit});
  for (int i = 0; i < 20; ++i) {
    StoredResponse large = response(std::string(1000, 'x'));
    large.input_items.emplace_back(1000, 'y');
    large.conversation.push_back({.content = std::string(1000, 'z')});
    store.put("", std::to_string(i), std::move(large));
    EXPECT_LE(store.bytes(), kLimit);
  }
  EXPECT_EQ(store.count(), 4U);
  EXPECT_TRUE(store.get("", "19").has_value());
  store.put("", "huge", response(std::string(kLimit, 'x')));
  EXPECT_EQ(store.count(), 0U);
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(ResponseStore, ReplaceNeedsOneToReplace) {
  ResponseStore store({});
  EXPECT_FALSE(store.replace("", "a", response("1")));
  store.put("", "a", response("1"));
  EXPECT_TRUE(store.replace("", "a", response("2")));
  EXPECT_EQ(store.get("", "a")->body, "2");
  EXPECT_TRUE(store.erase("", "a"));
  EXPECT_FALSE(store.replace("", "a", response("3")));
  EXPECT_EQ(store.count(), 0U);
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(ResponseStore, WhatHasEndedStays) {
  ResponseStore store({});
  StoredResponse cancelled = response("cancelled");
  cancelled.is_final = true;
  cancelled.is_cancelled = true;
  StoredResponse completed = response("completed");
  completed.is_final = true;
  store.put("", "a", response("running"));
  EXPECT_TRUE(store.replace("", "a", cancelled));
  EXPECT_FALSE(store.replace("", "a", completed));
  cancelled.body = "with its text";
  EXPECT_TRUE(store.replace("", "a", cancelled));
  EXPECT_EQ(store.get("", "a")->body, "with its text");
  store.put("", "b", response("running"));
  EXPECT_TRUE(store.replace("", "b", completed));
  EXPECT_FALSE(store.replace("", "b", cancelled));
}

}  // namespace
}  // namespace zllm::dialect::responses
