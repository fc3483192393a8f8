#include <zllm/dialect/responses/packed_reasoning.h>

#include <string>

#include <gtest/gtest.h>

namespace zllm::dialect::responses {
namespace {

TEST(PackedReasoning, ComesBackWhole) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(unpack_reasoning(pack_reasoning(text)), text);
    text += static_cast<char>(static_cast<unsigned char>(byte));
  }
  EXPECT_EQ(pack_reasoning("hm?"), "zllm1.aG0_");
}

TEST(PackedReasoning, OthersAreNotRead) {
  for (const char *packed : {"", "gAAAAABo", "zllm1.a b", "zllm1.aG0="}) {
    EXPECT_EQ(unpack_reasoning(packed), std::nullopt) << packed;
  }
}

}  // namespace
}  // namespace zllm::dialect::responses
