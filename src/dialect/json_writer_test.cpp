#include <zllm/dialect/json_writer.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace zllm::dialect {
namespace {

TEST(JsonWriter, SetsCommas) {
  JsonWriter json;
  json.begin_object().text("a", "x\"y").begin_array("b");
  json.integer(1).begin_object().end_object().begin_array().end_array().boolean(true).null();
  json.end_array().raw("c", R"({"d":1})").null("e").boolean("f", false).end_object();
  EXPECT_EQ(json.str(), R"({"a":"x\"y","b":[1,{},[],true,null],"c":{"d":1},"e":null,"f":false})");
}

TEST(JsonWriter, GoesOnAfterText) {
  JsonWriter json("{\"a\":1,");
  json.integer("b", std::numeric_limits<std::uint64_t>::max()).end_object();
  EXPECT_EQ(json.str(), R"({"a":1,"b":18446744073709551615})");
}

TEST(JsonWriter, SpellsNumbersAsFloats) {
  JsonWriter json;
  json.begin_array().number(0).number(-2).number(0.5).number(1e300);
  json.number(std::numeric_limits<double>::infinity()).end_array();
  EXPECT_EQ(json.str(), "[0.0,-2.0,0.5,1e+300,null]");
}

TEST(JsonWriter, LogProbabilitiesAreFinite) {
  JsonWriter json;
  json.begin_array().log_probability(-std::numeric_limits<double>::infinity());
  json.log_probability(-1e5).log_probability(-0.25).log_probability(std::nan("")).end_array();
  EXPECT_EQ(json.str(), "[-9999.0,-9999.0,-0.25,null]");
}

TEST(JsonWriter, RepairsBytesThatAreNoText) {
  JsonWriter json;
  json.text("a\xff\xc3");
  EXPECT_EQ(json.str(), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace zllm::dialect
