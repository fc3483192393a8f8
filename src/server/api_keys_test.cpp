#include <zllm/server/api_keys.h>

#include <gtest/gtest.h>

namespace zllm::server {
namespace {

TEST(ApiKeysTest, NamesTheKeyThatIsPresented) {
  auto keys = ApiKeys::create({"alpha", "beta-2"});
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->caller("alpha"), "key-0");
  EXPECT_EQ(keys->caller("beta-2"), "key-1");
}

TEST(ApiKeysTest, NothingElseIsAKey) {
  auto keys = ApiKeys::create({"alpha"});
  ASSERT_TRUE(keys.ok());
  for (const char *wrong : {"", "a", "alph", "alphaa", "alphaalpha", "Alpha", "alphb", " alpha"}) {
    EXPECT_FALSE(keys->caller(wrong).has_value()) << wrong;
  }
}

TEST(ApiKeysTest, RefusesKeysThatNoHeaderCarries) {
  EXPECT_FALSE(ApiKeys::create({""}).ok());
  EXPECT_FALSE(ApiKeys::create({"two words"}).ok());
  EXPECT_FALSE(ApiKeys::create({"caf\xC3\xA9"}).ok());
  EXPECT_FALSE(ApiKeys::create({std::string(kLongestKey + 1, 'k')}).ok());
}

}  // namespace
}  // namespace zllm::server
