#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <zllm/base/json.h>
#include <zllm/text/family/json_scanner.h>

namespace zllm::text::family {
namespace {

struct Scan {
  JsonScanner::Status status = JsonScanner::Status::open;
  std::size_t taken = 0;
  std::string json = {};
};

Scan scan(std::string_view text) {
  JsonScanner scanner;
  Scan result;
  while (result.taken < text.size() && result.status == JsonScanner::Status::open) {
    result.status = scanner.add(text[result.taken], result.json);
    ++result.taken;
  }
  return result;
}

TEST(JsonScanner, FindsTheEndOfAValue) {
  for (const std::string_view value :
       {R"({"a": [1, -0.5e+3, 0, true, false, null], "b": {"c": "}\"]\\"}, "d": []})", "[]", "{}",
        R"("a\u00e9\n")", "[[[{}]]]", "{\"\": 0}", "[10E2,1e-2]"}) {
    const Scan found = scan(std::string(value) + "}]\"");
    EXPECT_EQ(found.status, JsonScanner::Status::complete) << value;
    EXPECT_EQ(found.taken, value.size()) << value;
    EXPECT_EQ(found.json, value);
    EXPECT_TRUE(Json::parse(found.json, "value").ok());
  }
}

TEST(JsonScanner, RefusesWhatCannotBecomeValid) {
  for (const std::string_view text :
       {"1",   "x",   "{1",    "{,",    "{\"a\" 1",  "{\"a\":}", "[,]",  "[01",  "[1.]",  "[1.e",
        "[-]", "[+1", "[tru]", "[nul1", "{\"a\":1]", "[1}",      "[1 2", "[1e]", "[1e+]", "[.5"}) {
    EXPECT_EQ(scan(text).status, JsonScanner::Status::broken) << text;
  }
  EXPECT_EQ(scan(std::string(kJsonDepthLimit + 1, '[')).status, JsonScanner::Status::broken);
}

TEST(JsonScanner, MendsLastCommasAndWordsOfPython) {
  EXPECT_EQ(scan("{\"a\": [1, 2 , ] ,}").json, "{\"a\": [1, 2 ] }");
  EXPECT_EQ(scan("[True, False, None]").json, "[true, false, null]");
  EXPECT_EQ(scan("[1,,]").status, JsonScanner::Status::broken);
  EXPECT_EQ(scan("[Trux]").status, JsonScanner::Status::broken);
}

TEST(JsonScanner, MendsStrings) {
  EXPECT_EQ(scan("\"a\nb\tc\x01\"").json, R"("a\nb\tc\u0001")");
  EXPECT_EQ(scan(R"("\d\'\u12g")").json, R"("\\d\\'\\u12g")");
  EXPECT_EQ(scan(R"("\ud83d\ude00")").json, R"("\ud83d\ude00")");
  EXPECT_EQ(scan(R"("\ud83d")").json, R"("\ufffd")");
  EXPECT_EQ(scan(R"("\ude00x\ud83d\ud83d\ude00\ud83d\n")").json,
            R"("\ufffdx\ufffd\ud83d\ude00\ufffd\n")");
}

}  // namespace
}  // namespace zllm::text::family
