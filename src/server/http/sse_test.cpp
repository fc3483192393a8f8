#include <gtest/gtest.h>

#include <zllm/server/http/sse.h>

namespace zllm::server::http {
namespace {

TEST(Sse, AnEventHasAnameAndData) {
  EXPECT_EQ(frame_event("delta", "{\"a\":1}"), "event: delta\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(frame_event("", "[DONE]"), "data: [DONE]\n\n");
  EXPECT_EQ(frame_event("", ""), "data: \n\n");
}

TEST(Sse, EveryLineOfTheDataIsALine) {
  EXPECT_EQ(frame_event("", "a\nb"), "data: a\ndata: b\n\n");
  EXPECT_EQ(frame_event("", "a\r\nb\rc\n"), "data: a\ndata: b\ndata: c\ndata: \n\n");
  EXPECT_EQ(frame_event("", "\n\r"), "data: \ndata: \ndata: \n\n");
}

TEST(Sse, ANameCannotAddFields) {
  EXPECT_EQ(frame_event("x\ndata: forged", "a"), "event: x\ndata: a\n\n");
  EXPECT_EQ(frame_event("\nid: 1", "a"), "data: a\n\n");
}

}  // namespace
}  // namespace zllm::server::http
