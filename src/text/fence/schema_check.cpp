#include <zllm/text/fence/schema_check.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/finite_schema.h>
#include <zllm/text/fence/schema_choice.h>
#include <zllm/text/fence/schema_format.h>
#include <zllm/text/fence/schema_number.h>
#include <zllm/text/fence/schema_pattern.h>

namespace zllm::text {
namespace {

// As most JSON that models have read is spaced. Free white space costs tokens, and small models go
// on with it for ever. Without \uXXXX a key has one spelling, so that no other one is taken for a
// key that the schema does not know.
Json writing() {
  return Json(Json::Object{{"whitespace_flexible", Json(false)},
                           {"item_separator", Json(std::string(", "))},
                           {"key_separator", Json(std::string(": "))},
                           {"json_allowed_escapes", Json(std::string("nrbtf\\\""))}});
}

constexpr auto kEnforced = std::to_array<std::string_view>({"$ref",
                                                            "additionalItems",
                                                            "additionalProperties",
                                                            "allOf",
                                                            "anyOf",
                                                            "const",
                                                            "enum",
                                                            "exclusiveMaximum",
                                                            "exclusiveMinimum",
                                                            "format",
                                                            "items",
                                                            "maxItems",
                                                            "maxLength",
                                                            "maxProperties",
                                                            "maximum",
                                                            "minItems",
                                                            "minLength",
                                                            "minProperties",
                                                            "minimum",
                                                            "multipleOf",
                                                            "oneOf",
                                                            "pattern",
                                                            "patternProperties",
                                                            "prefixItems",
                                                            "properties",
                                                            "required",
                                                            "type",
                                                            "$defs",
                                                            "definitions"});

// What the values of a keyword are.
constexpr auto kSchemaMaps =
    std::to_array<std::string_view>({"$defs", "definitions", "patternProperties", "properties"});
constexpr auto kSchemaLists =
    std::to_array<std::string_view>({"allOf", "anyOf", "oneOf", "prefixItems"});
constexpr auto kSchemas =
    std::to_array<std::string_view>({"additionalItems", "additionalProperties", "items"});
// Keywords that others look at: without one of them the rest may allow less than before.
constexpr auto kLookedAt = std::to_array<std::string_view>(
    {"items", "patternProperties", "prefixItems", "properties", "type"});

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string child(const std::string& pointer, std::string_view key) {
  std::string out = pointer + "/";
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

Error refusal(std::string_view what, const std::string& pointer) {
  return Error{Code::invalid_argument,
               concat("the JSON schema ", what, " at ", quote(pointer.empty() ? "/" : pointer))};
}

// Of a pattern as the grammar is to have it.
using PatternTest = std::function<bool(const std::string&)>;

// Of a constant: everything in it can be written as it is.
Status check_constant(const Json& value, const std::string& pointer) {
  if (!is_exact_number(value)) {
    return refusal("has an integer that is not exact as a 64-bit float", pointer);
  }
  if (const std::string *text = value.as_string();
      text != nullptr && std::any_of(text->begin(), text->end(), is_unwritable)) {
    return refusal("has a string with a control character, which answers do not hold,", pointer);
  }
  if (const Json::Array *items = value.as_array()) {
    for (const Json& item : *items) {
      ZLLM_TRY(check_constant(item, pointer));
    }
  }
  if (const Json::Object *members = value.as_object()) {
    for (const auto& [key, member] : *members) {
      ZLLM_TRY(check_constant(Json(key), pointer));
      ZLLM_TRY(check_constant(member, pointer));
    }
  }
  return {};
}

// A key may come twice where the schema does not list it, and then counts once.
Status check_least_members(const Json& schema, const std::string& pointer) {
  std::uint64_t least = 0;
  const Json *minimum = schema.find("minProperties");
  if (minimum == nullptr || !minimum->as_unsigned(least)) {
    return {};
  }
  const Json *required = schema.find("required");
  const std::size_t listed =
      required != nullptr && required->as_array() ? required->as_array()->size() : 0;
  const Json *others = schema.find("additionalProperties");
  const bool is_closed = others != nullptr && others->as_bool() != nullptr && !*others->as_bool() &&
                         schema.find("patternProperties") == nullptr;
  return is_closed || least <= listed + 1
             ? Status()
             : refusal(
                   "has a minProperties that a key written twice would meet (require the keys, "
                   "or forbid others),",
                   pointer);
}

class SchemaChecker {
 public:
  // can_follow: null where nothing may be left out.
  SchemaChecker(const Json& root, const PatternTest *can_follow)
      : root_(root),
        can_follow_(can_follow),
        bounds_(bounds_within(root)),
        has_large_factors_(has_large_factors(root)) {}

  Result<Json> check(const Json& schema, const std::string& pointer, std::size_t depth);
  // References and base addresses together need a resolver of addresses.
  Status check_bases() const;
  std::vector<SchemaPattern> take_patterns() { return std::move(patterns_); }

 private:
  Result<Json> check_value(std::string_view key, const Json& value, const std::string& pointer,
                           std::size_t depth);
  Result<Json> check_map(std::string_view key, const Json& value, const std::string& pointer,
                         std::size_t depth);
  Result<Json> check_list(std::string_view key, const Json& value, const std::string& pointer,
                          std::size_t depth);
  // What a format asks of a string, as other keywords.
  static Result<Json::Object> check_format(const Json& value, const std::string& pointer);
  // A schema within another.
  Result<Json> check_part(const Json& schema, const std::string& pointer, std::size_t depth);
  Result<std::string> check_pattern(std::string_view pattern, const std::string& pointer) const;
  Status check_reference(const Json& value, const std::string& pointer);
  Status check_choices(const Json::Array& choices, const std::string& pointer) const;

  bool widens() const { return can_follow_ != nullptr; }

  const Json& root_;
  const PatternTest *can_follow_;
  std::vector<double> bounds_;  // of numbers, in all of the root
  bool has_large_factors_;
  bool has_references_ = false;
  std::string nested_id_;  // where one is
  std::vector<SchemaPattern> patterns_;
};

bool is_dropped(std::string_view key, const Json& value, const Json& schema) {
  const bool *flag = value.as_bool();
  if (key == "uniqueItems" || key == "nullable") {
    return flag != nullptr && !*flag;
  }
  if (key == "exclusiveMinimum" || key == "exclusiveMaximum") {
    return flag != nullptr;
  }
  const Json *items = schema.find("items");
  return key == "additionalItems" && (items == nullptr || items->as_array() == nullptr);
}

// The schema, of which the others must be true too.
Json with_more(Json::Object schema, Json::Array more) {
  if (more.empty()) {
    return Json(std::move(schema));
  }
  const auto all = std::find_if(schema.begin(), schema.end(),
                                [](const Json::Member& member) { return member.first == "allOf"; });
  if (all == schema.end()) {
    schema.emplace_back("allOf", Json(std::move(more)));
  } else if (const Json::Array *parts = all->second.as_array()) {
    more.insert(more.begin(), parts->begin(), parts->end());
    all->second = Json(std::move(more));
  }
  return Json(std::move(schema));
}

// What a format asks for: beside the schema's own keywords, or with them where they are the same.
void add_format(Json::Object format, const Json& schema, Json::Object& out, Json::Array& more) {
  const bool is_beside = std::any_of(format.begin(), format.end(), [&](const Json::Member& rule) {
    return schema.find(rule.first) != nullptr;
  });
  if (is_beside) {
    more.emplace_back(std::move(format));
  } else {
    std::move(format.begin(), format.end(), std::back_inserter(out));
  }
}

Result<Json> SchemaChecker::check(const Json& schema, const std::string& pointer,
                                  std::size_t depth) {
  if (depth > kMaxSchemaDepth) {
    return refusal(concat("is nested deeper than ", kMaxSchemaDepth), pointer);
  }
  if (schema.as_bool() != nullptr) {
    return schema;
  }
  if (schema.as_object() == nullptr) {
    return refusal(concat("has a ", schema.type_name(), " where a schema belongs"), pointer);
  }
  const Status least = check_least_members(schema, child(pointer, "minProperties"));
  if (!least.ok() && !widens()) {
    return least.error();
  }
  Json::Object out;
  Json::Array more;  // what has to be true as well
  for (const auto& [key, value] : *schema.as_object()) {
    if (is_dropped(key, value, schema)) {
      continue;
    }
    if ((key == "$id" || key == "id") && depth > 0) {
      nested_id_ = child(pointer, key);
    }
    if (is_schema_annotation(key)) {
      continue;
    }
    if (key == "format") {
      Result<Json::Object> format = check_format(value, child(pointer, key));
      if (format.ok()) {
        add_format(*std::move(format), schema, out, more);
      } else if (!widens()) {
        return std::move(format).error();
      }
      continue;
    }
    if (key == "minProperties" && !least.ok()) {
      continue;
    }
    const std::string_view known = bound_name(key, schema);
    Result<Json> checked = check_value(known, value, child(pointer, key), depth);
    if (!checked.ok() && widens() && !is_one_of(key, kLookedAt)) {
      continue;
    }
    if (!checked.ok()) {
      return checked;
    }
    // Of choices that exclude each other, any one is exactly one.
    const bool is_choice = key == "oneOf" && schema.find("anyOf") == nullptr;
    out.emplace_back(is_choice ? "anyOf" : known, *std::move(checked));
  }
  return with_more(std::move(out), std::move(more));
}

Result<Json::Object> SchemaChecker::check_format(const Json& value, const std::string& pointer) {
  const std::string *name = value.as_string();
  const std::optional<std::string> pattern = name ? format_pattern(*name) : std::nullopt;
  if (!pattern) {
    return refusal(
        concat("uses the format ", name ? quote(*name) : value.dump(), ", which is not supported,"),
        pointer);
  }
  Json::Object out = {{"pattern", Json(*pattern)}};
  if (*name == "hostname") {
    out.emplace_back("maxLength", Json(std::int64_t{kMaxHostnameLength}));
  }
  return out;
}

Result<Json> SchemaChecker::check_value(std::string_view key, const Json& value,
                                        const std::string& pointer, std::size_t depth) {
  if (!is_one_of(key, kEnforced)) {
    return refusal(concat("uses the keyword ", quote(key), ", which is not supported,"), pointer);
  }
  if (is_one_of(key, kSchemaMaps)) {
    return check_map(key, value, pointer, depth);
  }
  if (is_one_of(key, kSchemaLists) || (key == "items" && value.as_array() != nullptr)) {
    return check_list(key, value, pointer, depth);
  }
  if (is_one_of(key, kSchemas)) {
    return check_part(value, pointer, depth + 1);
  }
  if (key == "$ref") {
    ZLLM_TRY(check_reference(value, pointer));
    return Json(decoded_reference(*value.as_string()));
  }
  if (key == "pattern" && value.as_string() != nullptr) {
    ZLLM_TRY(std::string pattern, check_pattern(*value.as_string(), pointer));
    patterns_.push_back({pointer, pattern});
    return Json(std::move(pattern));
  }
  if (key == "const" || key == "enum") {
    ZLLM_TRY(check_constant(value, pointer));
  }
  if (is_bound(key)) {
    return held_bound(key, value, bounds_);
  }
  if (double factor = 0; key == "multipleOf" && value.as_number(factor)) {
    if (factor <= 0) {
      return refusal("has a multipleOf that is not above 0", pointer);
    }
    if (has_large_factors_ || is_large_factor(factor)) {
      return refusal("has a multipleOf that is too large, alone or with others,", pointer);
    }
  }
  return value;
}

Result<Json> SchemaChecker::check_part(const Json& schema, const std::string& pointer,
                                       std::size_t depth) {
  Result<Json> checked = check(schema, pointer, depth);
  if (!checked.ok() && widens()) {
    return Json(true);
  }
  return checked;
}

Result<std::string> SchemaChecker::check_pattern(std::string_view pattern,
                                                 const std::string& pointer) const {
  Result<std::string> made = grammar_pattern(pattern);
  if (!made.ok()) {
    return Error{Code::invalid_argument,
                 concat("the pattern at ", quote(pointer), ": ", made.error().message)};
  }
  if (widens() && !(*can_follow_)(*made)) {
    return refusal("has a pattern that cannot be followed", pointer);
  }
  return made;
}

Result<Json> SchemaChecker::check_map(std::string_view key, const Json& value,
                                      const std::string& pointer, std::size_t depth) {
  if (value.as_object() == nullptr) {
    return refusal(concat("needs an object as ", quote(key)), pointer);
  }
  Json::Object out;
  for (const auto& [name, schema] : *value.as_object()) {
    std::string written = name;
    if (key == "patternProperties") {
      ZLLM_TRY(written, check_pattern(name, child(pointer, name)));
    } else if (key != "properties") {
      written = child("", name).substr(1);  // the compiler looks for what references say
    }
    ZLLM_TRY(Json checked, check_part(schema, child(pointer, name), depth + 1));
    out.emplace_back(std::move(written), std::move(checked));
  }
  return Json(std::move(out));
}

Result<Json> SchemaChecker::check_list(std::string_view key, const Json& value,
                                       const std::string& pointer, std::size_t depth) {
  if (value.as_array() == nullptr) {
    return refusal(concat("needs an array as ", quote(key)), pointer);
  }
  if (key == "oneOf" && !widens()) {
    ZLLM_TRY(check_choices(*value.as_array(), pointer));
  }
  Json::Array out;
  for (std::size_t i = 0; i < value.as_array()->size(); ++i) {
    const Json& schema = (*value.as_array())[i];
    ZLLM_TRY(Json checked, check_part(schema, child(pointer, to_text(i)), depth + 1));
    out.push_back(std::move(checked));
  }
  return Json(std::move(out));
}

Status SchemaChecker::check_choices(const Json::Array& choices, const std::string& pointer) const {
  constexpr std::size_t kMaxChoices = 256;  // each is held against each
  if (choices.size() > kMaxChoices) {
    return refusal(concat("has a oneOf of more than ", kMaxChoices, " choices"), pointer);
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = i + 1; j < choices.size(); ++j) {
      if (!are_disjoint(root_, choices[i], choices[j])) {
        return refusal(concat("has a oneOf whose choices ", i, " and ", j,
                              " are not told apart by type or by a required constant (anyOf would "
                              "do),"),
                       pointer);
      }
    }
  }
  return {};
}

Status SchemaChecker::check_reference(const Json& value, const std::string& pointer) {
  has_references_ = true;
  const std::string *reference = value.as_string();
  if (reference == nullptr) {
    return refusal("has a $ref that is no string", pointer);
  }
  const Json *target = find_schema(root_, *reference);
  if (target == nullptr) {
    return refusal(concat("refers to ", quote(*reference), ", which is not in it,"), pointer);
  }
  std::set<const Json *> seen;
  while (target != nullptr) {
    if (!seen.insert(target).second) {
      return refusal("has a $ref that leads back to itself", pointer);
    }
    target = target_of(root_, *target);
  }
  return {};
}

Status SchemaChecker::check_bases() const {
  if (has_references_ && !nested_id_.empty()) {
    return refusal("has a base address within it beside $ref, which is not supported,", nested_id_);
  }
  return {};
}

Result<CheckedSchema> checked_schema(std::string_view source, const PatternTest *can_follow) {
  Result<Json> parsed = Json::parse(source, "the JSON schema");
  if (!parsed.ok()) {
    return Error{Code::invalid_argument, parsed.error().message};
  }
  const Json root = *std::move(parsed);
  SchemaChecker checker(root, can_follow);
  ZLLM_TRY(const Json checked, checker.check(root, "", 0));
  ZLLM_TRY(checker.check_bases());
  if (const std::string endless = endless_part(root); !endless.empty()) {
    return refusal("requires a value within itself without end", endless);
  }
  Json::Object out = {{"x-guidance", writing()}};
  if (const bool *allows = checked.as_bool()) {
    if (!*allows) {
      return refusal("allows nothing", "");
    }
  } else {
    for (const Json::Member& member : *checked.as_object()) {
      out.push_back(member);
    }
  }
  return CheckedSchema{Json(std::move(out)).dump(), checker.take_patterns()};
}

}  // namespace

std::vector<SchemaPart> schema_parts(const Json& schema) {
  std::vector<SchemaPart> out;
  if (schema.as_object() == nullptr) {
    return out;
  }
  for (const auto& [key, value] : *schema.as_object()) {
    const std::string pointer = child("", key);
    if (const Json::Array *list = value.as_array();
        list != nullptr && (is_one_of(key, kSchemaLists) || key == "items")) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        out.push_back({child(pointer, to_text(i)), &(*list)[i]});
      }
    } else if (const Json::Object *map = value.as_object();
               map != nullptr && (key == "properties" || key == "patternProperties")) {
      for (const auto& [name, member] : *map) {
        out.push_back({child(pointer, name), &member});
      }
    } else if (is_one_of(key, kSchemas)) {
      out.push_back({pointer, &value});
    }
  }
  return out;
}

Result<CheckedSchema> check_schema(std::string_view source) {
  return checked_schema(source, nullptr);
}

Result<CheckedSchema> widened_schema(std::string_view source,
                                     const std::function<bool(const std::string&)>& can_follow) {
  return checked_schema(source, &can_follow);
}

}  // namespace zllm::text
