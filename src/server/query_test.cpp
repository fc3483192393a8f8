#include <zllm/server/query.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zllm::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(QueryTest, DecodesNamesAndValues) {
  EXPECT_THAT(
      parse_query("a=1&include%5B%5D=x+y%20z&flag&b="),
      ElementsAre(Pair("a", "1"), Pair("include[]", "x y z"), Pair("flag", ""), Pair("b", "")));
}

TEST(QueryTest, KeepsWhatIsNoEscape) {
  EXPECT_THAT(parse_query("a=%&b=%4&c=%zz&&"),
              ElementsAre(Pair("a", "%"), Pair("b", "%4"), Pair("c", "%zz")));
  EXPECT_THAT(parse_query(""), IsEmpty());
}

}  // namespace
}  // namespace zllm::server
