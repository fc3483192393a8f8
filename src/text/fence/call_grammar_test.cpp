#include <gtest/gtest.h>

#include <random>
#include <string>
#include <variant>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/text/family/call_grammar.h>
#include <zllm/text/family/family.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/walk_test-inl.h>

namespace zllm::text {
namespace {

using family::CallRule;
using family::Tool;

class NoSpecials final : public family::SpecialSpellings {
 public:
  bool is_special(std::string_view /*spelling*/) const override { return false; }
};

// Of a vocabulary where a marker is one control token.
class OneSpecial final : public family::SpecialSpellings {
 public:
  OneSpecial(std::string spelling, TokenId id) : spelling_(std::move(spelling)), id_(id) {}
  bool is_special(std::string_view spelling) const override { return spelling == spelling_; }
  std::optional<TokenId> id_of(std::string_view spelling) const override {
    return spelling == spelling_ ? std::optional(id_) : std::nullopt;
  }

 private:
  std::string spelling_;
  TokenId id_;
};

const Tokenizer& tokenizer() {
  static const Tokenizer made = testing::small_tokenizer("byte_level");
  return made;
}

const FenceFactory& factory() {
  static const FenceFactory made = testing::factory_of(tokenizer(), {"<|im_end|>"});
  return made;
}

std::vector<Tool> tools() {
  std::vector<Tool> out = {
      {.name = "get_weather",
       .parameters = R"({"type":"object","properties":{"city":{"type":"string","maxLength":8},
           "days":{"type":"integer","minimum":1,"maximum":9},"unit":{"enum":["C","F"]}},
           "required":["city","days"],"additionalProperties":false})"},
      {.name = "stop-all", .parameters = R"({"type":"object","properties":{}})"}};
  for (Tool& tool : out) {
    tool.parameters = *factory().tool_schema(tool.parameters, true);
  }
  return out;
}

std::unique_ptr<engine::Fence> make(std::string_view name, CallRule rule, bool allows_parallel) {
  const std::vector<Tool> all = tools();
  const Result<std::string> lark = family::call_grammar(
      name, {.tools = all, .rule = rule, .allows_parallel = allows_parallel}, NoSpecials());
  EXPECT_TRUE(lark.ok()) << name << lark.error().message;
  auto fence = factory().make({.constraint = Constraint{ConstraintKind::lark, *lark}});
  EXPECT_TRUE(fence.ok()) << name << fence.error().message << *lark;
  return fence.ok() ? *std::move(fence) : nullptr;
}

struct Call {
  std::string name;
  std::string arguments = {};
};

struct Read {
  std::vector<Call> calls = {};
  std::string content = {};
};

Read read(std::string_view name, std::string_view text) {
  const std::vector<Tool> all = tools();
  const auto parser = family::find_family(name)->parser({.tools = all});
  std::vector<family::Piece> pieces;
  parser->add(text, false, pieces);
  parser->finish(pieces);
  Read out;
  for (const family::Piece& piece : pieces) {
    if (const auto *begin = std::get_if<family::CallBegin>(&piece)) {
      out.calls.push_back({begin->name});
    } else if (const auto *part = std::get_if<family::CallArguments>(&piece)) {
      out.calls.back().arguments += part->json;
    } else if (const auto *content = std::get_if<family::Content>(&piece)) {
      out.content += content->text;
    }
  }
  return out;
}

// Harmony is nothing but control tokens, which the small vocabulary has not.
std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const family::Family *one : family::all_families()) {
    if (one->name() != "harmony") {
      out.emplace_back(one->name());
    }
  }
  return out;
}

TEST(CallGrammar, RequiredCallsAreReadBackByTheFamily) {
  std::mt19937 random(21);
  for (const std::string& name : names()) {
    int ended = 0;
    for (int round = 0; round < 12; ++round) {
      const auto fence = make(name, CallRule::required, false);
      ASSERT_NE(fence, nullptr);
      const testing::Walk made = testing::walk(*fence, tokenizer(), random, 150);
      if (!made.has_ended || !is_valid_utf8(made.text)) {
        continue;
      }
      ++ended;
      const Read back = read(name, made.text);
      ASSERT_EQ(back.calls.size(), 1U) << name << ": " << made.text;
      const Result<Json> arguments = Json::parse(back.calls[0].arguments, "arguments");
      ASSERT_TRUE(arguments.ok()) << name << ": " << made.text << back.calls[0].arguments;
      EXPECT_NE(arguments->as_object(), nullptr);
      EXPECT_EQ(arguments->find("days") != nullptr, back.calls[0].name == "get_weather")
          << made.text;
    }
    EXPECT_GT(ended, 0) << name;
  }
}

TEST(CallGrammar, TextsOfMarkupSatisfyTheirSchemas) {
  std::vector<Tool> all = {
      {.name = "f",
       .parameters = R"({"$ref":"#/$defs/all","$defs":{"unit":{"enum":["C","F"]},"all":{
           "type":"object","required":["code","name","kind","unit"],"properties":{
           "code":{"type":"string","pattern":"^[A-Z]{2}/$"},
           "name":{"type":"string","minLength":2,"maxLength":3},"kind":{"const":"day"},
           "unit":{"$ref":"#/$defs/unit"}}}}})",
       .is_strict = true}};
  all[0].parameters = *factory().tool_schema(all[0].parameters, true);
  std::mt19937 random(7);
  for (const std::string name : {"qwen3_coder", "seed_oss", "glm4", "minimax", "deepseek_v32"}) {
    const auto lark =
        family::call_grammar(name, {.tools = all, .rule = CallRule::required}, NoSpecials());
    ASSERT_TRUE(lark.ok()) << lark.error().message;
    int ended = 0;
    for (int round = 0; round < 20; ++round) {
      auto fence = factory().make({.constraint = Constraint{ConstraintKind::lark, *lark}});
      ASSERT_TRUE(fence.ok()) << name << fence.error().message << *lark;
      const testing::Walk made = testing::walk(**fence, tokenizer(), random, 900);
      if (!made.has_ended || !is_valid_utf8(made.text)) {
        continue;
      }
      ++ended;
      const Read back = read(name, made.text);
      ASSERT_FALSE(back.calls.empty()) << made.text;
      const Json arguments = *Json::parse(back.calls[0].arguments, "arguments");
      const auto text = [&](std::string_view key) {
        const Json *value = arguments.find(key);
        return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
      };
      EXPECT_EQ(text("code").size(), 3U) << made.text;
      EXPECT_GE(text("name").size(), 2U) << made.text;
      EXPECT_EQ(text("kind"), "day");
      EXPECT_TRUE(text("unit") == "C" || text("unit") == "F") << made.text;
    }
    EXPECT_GT(ended, 0) << name;
  }
}

TEST(CallGrammar, ControlTokensAreNamedByTheirIds) {
  const TokenId id = *tokenizer().id_of("<|im_start|>");
  const std::vector<std::pair<std::string, std::string>> markers = {{"hermes", "<tool_call>"},
                                                                    {"mistral", "[TOOL_CALLS]"}};
  for (const auto& [name, marker] : markers) {
    const std::vector<Tool> all = tools();
    const auto lark = family::call_grammar(name, {.tools = all, .rule = CallRule::required},
                                           OneSpecial(marker, id));
    ASSERT_TRUE(lark.ok()) << lark.error().message;
    const auto fence = factory().make({.constraint = Constraint{ConstraintKind::lark, *lark}});
    ASSERT_TRUE(fence.ok()) << fence.error().message;
    EXPECT_TRUE(has_token(*(*fence)->mask(), id)) << name;
    EXPECT_TRUE((*fence)->advance(id).ok()) << name;
  }
}

TEST(CallGrammar, ArgumentsAreAnObjectWhateverElseTheSchemaSays) {
  EXPECT_FALSE(factory().tool_schema(R"({"type":"string"})", true).ok());
  const auto schema = factory().tool_schema(R"({"properties":{"a":{"type":"null"}}})", true);
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(*Json::parse(*schema, "schema")->find("type")->as_string(), "object");
}

TEST(CallGrammar, OnlyWhatCannotBeHeldToIsLeftOut) {
  const std::string odd =
      R"({"type":"object","additionalProperties":false,"required":["a","b","c","d"],"properties":{
          "a":{"type":"array","items":{"enum":[1,2]},"uniqueItems":true},
          "b":{"type":"string","pattern":"(?=x)y","maxLength":2},
          "c":{"$ref":"#/$defs/c"},
          "d":{"oneOf":[{"type":"integer"},{"type":"number","maximum":5}]},
          "e":{"patternProperties":{"(":{}},"additionalProperties":false},
          "f":{"$ref":"#/nowhere"}},
          "$defs":{"c":{"enum":["k"],"if":{"type":"null"},"then":false}}})";
  EXPECT_FALSE(factory().tool_schema(odd, true).ok());
  const auto schema = factory().tool_schema(odd, false);
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  const auto accepts = [&](std::string_view arguments) {
    auto fence = factory().make(
        {.constraint = Constraint{ConstraintKind::lark, concat("start: %json ", *schema, "\n")}});
    EXPECT_TRUE(fence.ok());
    return testing::advance_by(**fence, tokenizer(), arguments, true).ok() &&
           testing::may_end(**fence, *tokenizer().id_of("<|im_end|>"));
  };
  EXPECT_TRUE(accepts(R"({"a": [1, 1], "b": "zz", "c": "k", "d": 7})"));
  EXPECT_TRUE(accepts(R"({"a": [], "b": "", "c": "k", "d": 4.5, "e": {"x": 1}, "f": null})"));
  EXPECT_FALSE(accepts(R"({"a": [3], "b": "zz", "c": "k", "d": 7})"));
  EXPECT_FALSE(accepts(R"({"a": [], "b": "zzz", "c": "k", "d": 7})"));
  EXPECT_FALSE(accepts(R"({"a": [], "b": "zz", "c": "l", "d": 7})"));
  EXPECT_FALSE(accepts(R"({"a": [], "b": "zz", "c": "k", "d": "7"})"));
  EXPECT_FALSE(accepts(R"({"a": [], "b": "zz", "d": 7})"));
}

TEST(CallGrammar, OptionalCallsLeaveTextFree) {
  for (const std::string& name : names()) {
    const auto fence = make(name, CallRule::optional, true);
    ASSERT_NE(fence, nullptr);
    const TokenId end = *tokenizer().id_of("<|im_end|>");
    EXPECT_TRUE(testing::may_end(*fence, end)) << name;
    EXPECT_TRUE(testing::advance_by(*fence, tokenizer(), "Hello <b> [x]\n", true).ok()) << name;
    EXPECT_TRUE(testing::may_end(*fence, end)) << name;
  }
}

TEST(CallGrammar, WhatModelsWriteIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> answers = {
      {"hermes",
       "I look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ulm\", "
       "\"days\": 2}}\n</tool_call>\n<tool_call>\n{\"name\": \"stop-all\", \"arguments\": {}}\n"
       "</tool_call>"},
      {"qwen3_coder",
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nUlm\n</parameter>\n"
       "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"},
      {"glm4",
       "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Ulm</arg_value>\n"
       "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>"},
      {"minimax",
       "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Ulm"
       "</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n</minimax:tool_call>"},
      {"llama3", R"({"name": "get_weather", "parameters": {"city": "Ulm", "days": 2}})"},
      {"mistral",
       R"([TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Ulm", "days": 2}}])"},
      {"kimi_k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
       "<|tool_call_argument_begin|>{\"city\": \"Ulm\", \"days\": 2}<|tool_call_end|>"
       "<|tool_calls_section_end|>"},
  };
  for (const auto& [name, answer] : answers) {
    for (const CallRule rule : {CallRule::optional, CallRule::required}) {
      if (rule == CallRule::required && answer.starts_with("I look")) {
        continue;
      }
      const auto fence = make(name, rule, true);
      ASSERT_NE(fence, nullptr);
      const Status status = testing::advance_by(*fence, tokenizer(), answer, true);
      EXPECT_TRUE(status.ok()) << name;
      EXPECT_TRUE(testing::may_end(*fence, *tokenizer().id_of("<|im_end|>"))) << name;
      const Read back = read(name, answer);
      ASSERT_FALSE(back.calls.empty()) << name;
      EXPECT_EQ(Json::parse(back.calls[0].arguments, "arguments")->dump(),
                R"({"city":"Ulm","days":2})");
    }
  }
}

TEST(CallGrammar, BadSchemasAreErrorsOnlyWhereTheyMustBeEnforced) {
  EXPECT_FALSE(factory().tool_schema(R"({"not":{}})", true).ok());
  EXPECT_TRUE(factory().tool_schema(R"({"not":{}})", false).ok());
  EXPECT_TRUE(factory().tool_schema("", true).ok());
  const std::vector<Tool> bad = {{.name = "a", .parameters = "{"}};
  EXPECT_FALSE(family::call_grammar("hermes", {.tools = bad}, NoSpecials()).ok());
  EXPECT_FALSE(family::call_grammar("hermes", {}, NoSpecials()).ok());
  EXPECT_FALSE(family::call_grammar("none", {.tools = bad}, NoSpecials()).ok());
}

TEST(CallGrammar, WhatMarkupDoesNotEnforceIsRefusedWhereItMustBe) {
  const auto refusal = [](std::string_view argument, bool is_strict) {
    const std::vector<Tool> all = {
        {.name = "f",
         .parameters = *factory().tool_schema(
             concat(R"({"type":"object","properties":{"a":)", argument, "}}"), true),
         .is_strict = is_strict}};
    const auto lark = family::call_grammar("qwen3_coder", {.tools = all}, NoSpecials());
    return lark.ok() ? std::string() : lark.error().message;
  };
  EXPECT_NE(refusal(R"({"type":["string","null"],"maxLength":3})", true).find("'maxLength'"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"enum":["x",1]})", true).find("'enum'"), std::string::npos);
  EXPECT_NE(refusal(R"({"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]})", true)
                .find("'anyOf'"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"anyOf":[{"type":"string"},{"type":"null"}]})", true), "");
  EXPECT_EQ(refusal(R"({"type":"string","format":"date"})", true), "");
  EXPECT_EQ(refusal(R"({"type":["string","null"],"maxLength":3})", false), "");
}

}  // namespace
}  // namespace zllm::text
