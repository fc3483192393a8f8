#include <gtest/gtest.h>

#include <zllm/edge/call.h>

namespace zllm::edge {
namespace {

TEST(EdgeAbi, LibraryAndHeaderAreOfOneVersion) {
  EXPECT_EQ(edge_abi_version(), std::uint32_t{EDGE_ABI_VERSION});
}

TEST(EdgeAbi, PanicBecomesAnInternalErrorThatSaysWhere) {
  const Status status = call(edge_test_panic);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::internal);
  EXPECT_NE(status.error().message.find("on purpose"), std::string::npos);
  EXPECT_NE(status.error().message.find("abi.rs"), std::string::npos);
}

}  // namespace
}  // namespace zllm::edge
