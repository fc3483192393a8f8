#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/walk_test-inl.h>

namespace zllm::text {
namespace {

using testing::walk;
using testing::Walk;

const Tokenizer& tokenizer() {
  static const Tokenizer made = testing::small_tokenizer("byte_level");
  return made;
}

const FenceFactory& factory() {
  static const FenceFactory made =
      testing::factory_of(tokenizer(), {"<|im_end|>", "<|endoftext|>"});
  return made;
}

Result<std::unique_ptr<engine::Fence>> make(std::string_view schema) {
  return factory().make(
      {.constraint = Constraint{ConstraintKind::json_schema, std::string(schema)}});
}

std::string refusal(std::string_view schema) {
  const auto fence = make(schema);
  return fence.ok() ? "accepted" : fence.error().message;
}

bool accepts_exactly(std::string_view schema, std::string_view text) {
  const auto fence = make(schema);
  return fence.ok() && testing::advance_by(**fence, tokenizer(), text, true).ok() &&
         testing::may_end(**fence, *tokenizer().id_of("<|im_end|>"));
}

// A validator of its own, of the keywords that these tests use.
bool is_valid(const Json& root, const Json& schema, const Json& value);

// The text as fences space JSON.
std::string spaced(std::string_view text) {
  std::string out;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    is_string = text[i] == '"' ? !is_string : is_string;
    if (!is_string && (text[i] == ',' || text[i] == ':') && text.substr(i + 1, 1) != " ") {
      out += ' ';
    }
  }
  return out;
}

bool accepts(std::string_view schema, std::string_view text) {
  return accepts_exactly(schema, spaced(text));
}

bool is_of_type(std::string_view type, const Json& value) {
  double number = 0;
  if (type == "number") {
    return value.as_number(number);
  }
  // Beyond 64 bits an integer reads as a float.
  return type == "integer" ? value.as_number(number) && std::floor(number) == number
                           : value.type_name() == type;
}

bool are_members_valid(const Json& root, const Json& schema, const Json& value) {
  const Json *members = schema.find("properties");
  const Json *others = schema.find("additionalProperties");
  for (const auto& [key, member] : *value.as_object()) {
    const Json *known = members != nullptr ? members->find(key) : nullptr;
    const Json *rule = known != nullptr ? known : others;
    if (rule != nullptr && !is_valid(root, *rule, member)) {
      return false;
    }
  }
  const Json *required = schema.find("required");
  return required == nullptr ||
         std::all_of(required->as_array()->begin(), required->as_array()->end(),
                     [&](const Json& key) { return value.find(*key.as_string()) != nullptr; });
}

bool is_in_bounds(const Json& schema, std::string_view least, std::string_view most, double value) {
  double bound = 0;
  const Json *low = schema.find(least);
  const Json *high = schema.find(most);
  return (low == nullptr || (low->as_number(bound) && value >= bound)) &&
         (high == nullptr || (high->as_number(bound) && value <= bound));
}

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

bool is_valid(const Json& root, const Json& schema, const Json& value) {
  if (const bool *allows = schema.as_bool()) {
    return *allows;
  }
  if (const Json *reference = schema.find("$ref")) {
    const std::string& name = *reference->as_string();
    return is_valid(root, name == "#" ? root : *root.find("$defs")->find(name.substr(8)), value);
  }
  if (const Json *choices = schema.find("anyOf")) {
    return std::any_of(choices->as_array()->begin(), choices->as_array()->end(),
                       [&](const Json& choice) { return is_valid(root, choice, value); });
  }
  if (const Json *values = schema.find("enum")) {
    return std::any_of(values->as_array()->begin(), values->as_array()->end(),
                       [&](const Json& one) { return one.dump() == value.dump(); });
  }
  if (const Json *type = schema.find("type"); type && !is_of_type(*type->as_string(), value)) {
    return false;
  }
  double number = 0;
  if (value.as_number(number)) {
    return is_in_bounds(schema, "minimum", "maximum", number);
  }
  if (const std::string *text = value.as_string()) {
    return is_in_bounds(schema, "minLength", "maxLength", double(characters_of(*text)));
  }
  if (const Json::Array *items = value.as_array()) {
    const Json *rule = schema.find("items");
    return is_in_bounds(schema, "minItems", "maxItems", double(items->size())) &&
           (rule == nullptr || std::all_of(items->begin(), items->end(), [&](const Json& item) {
              return is_valid(root, *rule, item);
            }));
  }
  return value.as_object() == nullptr || are_members_valid(root, schema, value);
}

constexpr std::string_view kPerson =
    R"({"type":"object","properties":{"name":{"type":"string","minLength":2,"maxLength":6},
        "age":{"type":"integer","minimum":0,"maximum":150},
        "tags":{"type":"array","items":{"enum":["a","bc",3,null]},"minItems":1,"maxItems":3},
        "pick":{"anyOf":[{"type":"boolean"},{"type":"number","minimum":-1.5,"maximum":2}]}},
        "required":["name","age"],"additionalProperties":false})";

constexpr std::string_view kTree =
    R"({"type":"object","properties":{"value":{"type":"integer"},"kind":{"$ref":"#/$defs/kind"},
        "children":{"type":"array","items":{"$ref":"#"},"maxItems":2}},
        "required":["value","kind"],"additionalProperties":false,
        "$defs":{"kind":{"enum":["leaf","node"]}}})";

TEST(SchemaFence, WhateverTheMaskAllowsSatisfiesTheSchema) {
  std::mt19937 random(7);
  for (const std::string_view schema : {kPerson, kTree}) {
    const Json root = *Json::parse(schema, "schema");
    int ended = 0;
    for (int round = 0; round < 40; ++round) {
      const auto fence = *make(schema);
      const Walk made = walk(*fence, tokenizer(), random);
      if (made.has_ended) {
        ++ended;
        const Result<Json> value = Json::parse(made.text, "answer");
        ASSERT_TRUE(value.ok()) << made.text;
        EXPECT_TRUE(is_valid(root, root, *value)) << made.text;
      }
    }
    EXPECT_GT(ended, 10);
  }
}

TEST(SchemaFence, EnforcesReferencesIntoItemsAndEnumsBehindThem) {
  EXPECT_TRUE(accepts(
      kTree, R"({"value": 1, "kind": "node", "children": [{"value": 2, "kind": "leaf"}]})"));
  EXPECT_FALSE(accepts(kTree, R"({"value": 1, "kind": "tree"})"));
  EXPECT_FALSE(accepts(
      kTree, R"({"value": 1, "kind": "node", "children": [{"value": "2", "kind": "leaf"}]})"));
  EXPECT_FALSE(accepts(kTree, R"({"value": 1, "kind": "node", "children": [{"value": 2}]})"));
}

TEST(SchemaFence, AnEmptyObjectWorks) {
  constexpr std::string_view kEmpty = R"({"type":"object","properties":{}})";
  EXPECT_TRUE(accepts(kEmpty, "{}"));
  EXPECT_TRUE(accepts(kEmpty, R"({"a":[1]})"));
  EXPECT_FALSE(accepts(kEmpty, "[]"));
  EXPECT_TRUE(accepts(R"({"type":"object","properties":{},"additionalProperties":false})", "{}"));
}

TEST(SchemaFence, EnforcesKeywordByKeyword) {
  struct Case {
    std::string_view schema, good, bad;
  };
  for (const Case& one : std::vector<Case>{
           {R"({"type":"array","minItems":2})", "[1,2]", "[1]"},
           {R"({"type":"array","maxItems":1})", "[1]", "[1,2]"},
           {R"({"type":"array","prefixItems":[{"type":"null"}],"items":false})", "[null]", "[1]"},
           {R"({"type":"array","items":[{"type":"null"}],"additionalItems":false})", "[null]",
            "[null,1]"},
           {R"({"type":"object","minProperties":1})", R"({"a":1})", "{}"},
           {R"({"type":"object","maxProperties":1})", R"({"a":1})", R"({"a":1,"b":2})"},
           {R"({"patternProperties":{"^x":{"type":"null"}},"additionalProperties":false,)"
            R"("type":"object"})",
            R"({"x1":null})", R"({"y":null})"},
           {R"({"type":"integer","multipleOf":3})", "-6", "7"},
           {R"({"type":"integer","exclusiveMaximum":10})", "9", "10"},
           {R"({"type":"string","pattern":"^[a-c]+$"})", R"("abc")", R"("abd")"},
           {R"({"type":"string","format":"date"})", R"("2024-02-28")", R"("2024-13-28")"},
           {R"({"type":["string","null"]})", "null", "1"},
           {R"({"const":{"a":[1]}})", R"({"a":[1]})", R"({"a":[2]})"},
           {R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", "1", "null"},
           {R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5}]})", "4", "6"},
       }) {
    EXPECT_TRUE(accepts(one.schema, one.good)) << one.schema << refusal(one.schema);
    EXPECT_FALSE(accepts(one.schema, one.bad)) << one.schema;
  }
}

TEST(SchemaFence, ChoicesThatReferencesTellApartAreFollowed) {
  constexpr std::string_view kPets = R"({"oneOf":[{"$ref":"#/$defs/cat"},{"$ref":"#/$defs/dog"}],
      "discriminator":{"propertyName":"kind"},"$defs":{
      "cat":{"type":"object","properties":{"kind":{"const":"cat"},"lives":{"type":"integer"}},
             "required":["kind"]},
      "dog":{"type":"object","properties":{"kind":{"const":"dog"},
             "friends":{"type":"array","items":{"oneOf":[{"$ref":"#/$defs/cat"},
             {"$ref":"#/$defs/dog"}]}}},"required":["kind"]}}})";
  EXPECT_TRUE(accepts(kPets, R"({"kind":"dog","friends":[{"kind":"cat","lives":9}]})"))
      << refusal(kPets);
  EXPECT_FALSE(accepts(kPets, R"({"kind":"cow"})"));
  EXPECT_NE(refusal(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})").find("'/oneOf'"),
            std::string::npos);
}

TEST(SchemaFence, WhatIsNotEnforcedIsRefusedByNameAndPlace) {
  for (const auto& [schema, place] : std::vector<std::pair<std::string, std::string>>{
           {R"({"if":{"type":"string"}})", "/if"},
           {R"({"not":{}})", "/not"},
           {R"({"properties":{"a":{"uniqueItems":true}}})", "/properties/a/uniqueItems"},
           {R"({"properties":{"a/b":{"contains":{}}}})", "/properties/a~1b/contains"},
           {R"({"dependentRequired":{"a":["b"]}})", "/dependentRequired"},
           {R"({"propertyNames":{}})", "/propertyNames"},
           {R"({"unevaluatedProperties":false})", "/unevaluatedProperties"},
           {R"({"$dynamicRef":"#a"})", "/$dynamicRef"},
           {R"({"allOf":[{},{"propertees":{}}]})", "/allOf/1/propertees"},
           {R"({"x-guidance":{"lenient":true}})", "/x-guidance"},
           {R"({"type":"string","format":"regex"})", "/format"},
           {R"({"items":{"$ref":"https://example.com/a"}})", "/items/$ref"},
           {R"({"$ref":"#/$defs/none"})", "/$ref"},
           {R"({"$ref":"#"})", "/$ref"},
           {R"({"properties":{"a":3}})", "/properties/a"},
           {R"({"properties":{"a":{"type":"string","pattern":"(?<=a)*"}}})",
            "/properties/a/pattern"},
           {R"({"properties":{"a":{"type":"string","pattern":"(a"}}})", "/properties/a/pattern"},
       }) {
    EXPECT_NE(refusal(schema).find("'" + place + "'"), std::string::npos) << refusal(schema);
  }
}

TEST(SchemaFence, WhatSaysNothingPasses) {
  EXPECT_EQ(refusal(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x",
      "title":"t","description":"d","default":1,"examples":[1],"$comment":"c","deprecated":true,
      "readOnly":true,"writeOnly":false,"x-order":3,"type":"array","uniqueItems":false})"),
            "accepted");
}

TEST(SchemaFence, WhatNoValueSatisfiesIsRefused) {
  for (const std::string_view schema :
       {R"(false)", R"({"type":"string","pattern":"^a$","minLength":3})",
        R"({"type":"object","properties":{"a":false},"required":["a"]})",
        R"({"type":"string","enum":[1]})", R"({"type":"integer","minimum":3,"maximum":2})",
        R"({"type":"array","minItems":2,"maxItems":1})", R"({"anyOf":[{"$ref":"#"}]})",
        R"({"multipleOf":0})", R"({"multipleOf":-2})"}) {
    EXPECT_NE(refusal(schema), "accepted") << schema;
  }
}

TEST(SchemaFence, WhatRequiresItselfWithoutEndIsRefused) {
  EXPECT_NE(refusal(R"({"properties":{"a":{"$ref":"#/$defs/n"}},
                        "$defs":{"n":{"type":"object","properties":{"b":{"$ref":"#/$defs/n"}},
                                      "required":["b"]}}})")
                .find("/$defs/n"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"type":"array","minItems":1,"items":{"$ref":"#"}})").find("without end"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"type":"array","items":{"$ref":"#"}})"), "accepted");
  EXPECT_EQ(refusal(R"({"type":"object","required":["a"],"properties":{"a":{"anyOf":[
                        {"type":"null"},{"$ref":"#"}]}}})"),
            "accepted");
  EXPECT_EQ(refusal(R"({"type":"object","required":["enum","const"],"properties":{
                        "enum":{"type":"null"},"const":{"type":"null"}}})"),
            "accepted");
}

TEST(SchemaFence, PatternsAreWholeByThemselves) {
  for (const std::string_view pattern : {R"(a)|(b)", R"(\\)", "(a"}) {
    const std::string schema = concat(R"({"type":"string","pattern":")", pattern, R"("})");
    EXPECT_NE(refusal(schema).find("/pattern"), std::string::npos) << schema;
  }
  EXPECT_EQ(refusal(R"({"type":"string","pattern":"^[)(]\\(a$"})"), "accepted");
}

TEST(SchemaFence, BadSourcesAreErrorsWithinLimits) {
  std::string deep = "true";
  for (std::size_t i = 0; i <= kMaxSchemaDepth; ++i) {
    deep = R"({"items":)" + deep + "}";
  }
  EXPECT_NE(refusal(deep).find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal(std::string(kMaxGrammarBytes + 1, ' ')).find("more than"), std::string::npos);
  EXPECT_NE(refusal("{"), "accepted");
  EXPECT_NE(refusal("3"), "accepted");
  EXPECT_NE(refusal(R"({"type":"x"})"), "accepted");
  EXPECT_NE(refusal(R"({"required":"a"})"), "accepted");
}

TEST(SchemaFence, PatternAfterPatternWorks) {
  EXPECT_EQ(refusal(R"({"type":"string","pattern":"^(.*)$"})"), "accepted");
  EXPECT_TRUE(accepts(R"({"type":"string","pattern":"^(|.*)$"})", R"("")"));
}

TEST(SchemaFence, WhiteSpaceIsFixed) {
  EXPECT_TRUE(accepts_exactly(kPerson, R"({"name": "ab", "age": 3})"));
  EXPECT_FALSE(accepts_exactly(kPerson, "{\n  \"name\": \"ab\", \"age\": 3}"));
  EXPECT_FALSE(accepts_exactly(kPerson, R"({"name":"ab","age":3})"));
}

TEST(SchemaFence, AKeyHasOneSpelling) {
  constexpr std::string_view kNumber = R"({"type":"object","properties":{"a":{"type":"integer"}}})";
  EXPECT_FALSE(accepts_exactly(kNumber, R"({"\u0061": "x"})"));
  EXPECT_TRUE(accepts_exactly(kNumber, R"({"b\n": "x"})"));
  EXPECT_FALSE(accepts_exactly(R"({"type":"object","patternProperties":{"^a":{"type":"integer"}}})",
                               R"({"\u0061": "x"})"));
}

TEST(SchemaFence, AKeyWrittenTwiceDoesNotCountTwice) {
  EXPECT_NE(refusal(R"({"type":"object","minProperties":2})").find("'/minProperties'"),
            std::string::npos);
  EXPECT_EQ(refusal(R"({"type":"object","minProperties":2,"required":["a"]})"), "accepted");
}

TEST(SchemaFence, NumbersThatFloatsDoNotHoldAreBoundedInward) {
  EXPECT_FALSE(accepts(R"({"type":"integer","minimum":9007199254740993})", "9007199254740992"));
  EXPECT_TRUE(accepts(R"({"type":"integer","minimum":-9223372036854775808})", "-5"));
  EXPECT_TRUE(accepts(R"({"type":"integer","maximum":18446744073709551615})", "5"));
  EXPECT_NE(refusal(R"({"const":9007199254740993})").find("'/const'"), std::string::npos);
}

TEST(SchemaFence, BoundsOfDraft4AreExclusive) {
  constexpr std::string_view kBelow =
      R"({"maximum":3,"anyOf":[{"type":"number"}],"exclusiveMaximum":true})";
  EXPECT_TRUE(accepts(kBelow, "2"));
  EXPECT_FALSE(accepts(kBelow, "3"));
}

TEST(SchemaFence, SignsInSetsStandForThemselves) {
  constexpr std::string_view kSet = R"({"type":"string","pattern":"^[a-z&&[^b]+]$"})";
  EXPECT_FALSE(accepts(kSet, R"("a")"));
  EXPECT_TRUE(accepts(kSet, R"("[]")"));
  EXPECT_TRUE(accepts(R"({"type":"string","pattern":"^{\\<a\\>}$"})", R"("{<a>}")"));
  EXPECT_TRUE(accepts(R"({"type":"string","pattern":"^\\p{L}{2}$"})", R"("ab")"));
  EXPECT_NE(refusal(R"({"type":"string","pattern":"^\\x01$"})").find("/pattern"),
            std::string::npos);
}

TEST(SchemaFence, FormatsAreStrict) {
  struct Case {
    std::string_view format, good, bad;
  };
  for (const Case& one : std::vector<Case>{
           {"date", "2024-02-29", "2023-02-29"},
           {"date", "2000-02-29", "1900-02-29"},
           {"time", "23:59:59.5+01:00", "12:00:60Z"},
           {"date-time", "2024-02-29T01:02:03Z", "2024-02-30T01:02:03Z"},
           {"duration", "P1Y2M3DT4H", "P1Y3D"},
           {"email", "a.b@c.de", "a..b@c.de"},
           {"hostname", "a-b.c", "a-.c"},
           {"ipv4", "1.20.255.0", "01.2.3.4"},
           {"ipv6", "fe80::1:2", "1::2::3"},
           {"uri", "http://a@[::1]:8/b?c#d", "a b:c"},
           {"uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"},
       }) {
    const std::string schema = concat(R"({"type":"string","format":")", one.format, R"("})");
    EXPECT_TRUE(accepts_exactly(schema, concat("\"", one.good, "\""))) << schema << refusal(schema);
    EXPECT_FALSE(accepts_exactly(schema, concat("\"", one.bad, "\""))) << schema;
  }
  constexpr std::string_view kBoth = R"({"type":"string","format":"date","pattern":"^2024"})";
  EXPECT_TRUE(accepts(kBoth, R"("2024-01-01")"));
  EXPECT_FALSE(accepts(kBoth, R"("2023-01-01")"));
}

TEST(SchemaFence, ReferencesMayBeEscaped) {
  constexpr std::string_view kEscaped =
      R"({"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"integer"}}})";
  EXPECT_TRUE(accepts(kEscaped, "1")) << refusal(kEscaped);
  EXPECT_FALSE(accepts(kEscaped, "null"));
}

TEST(SchemaFence, WhatTheCompilerRefusesIsToldWithItsPlace) {
  EXPECT_NE(
      refusal(R"({"type":"object","properties":{"a":{"type":"integer","minimum":3,"maximum":2}},
                        "required":["a"]})")
          .find("'/properties/a'"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"items":{"type":"any"}})").find("'/items'"), std::string::npos);
}

}  // namespace
}  // namespace zllm::text
