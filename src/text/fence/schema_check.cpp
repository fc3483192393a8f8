#include <zllm/text/fence/schema_check.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/finite_schema.h>
#include <zllm/text/fence/schema_choice.h>
#include <zllm/text/fence/source_nesting.h>

namespace zllm::text {
namespace {

// As most JSON that models have read is spaced. Free white space costs tokens, and small models go
// on with it for ever.
Json spacing() {
  return Json(Json::Object{{"whitespace_flexible", Json(false)},
                           {"item_separator", Json(std::string(", "))},
                           {"key_separator", Json(std::string(": "))}});
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

constexpr auto kFormats = std::to_array<std::string_view>(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"});

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

using PatternTest = std::function<bool(const std::string&)>;

class SchemaChecker {
 public:
  // can_follow: null where nothing may be left out.
  SchemaChecker(const Json& root, const PatternTest *can_follow)
      : root_(root), can_follow_(can_follow) {}

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
  // A schema within another.
  Result<Json> check_part(const Json& schema, const std::string& pointer, std::size_t depth);
  Status check_pattern(const std::string& pattern, const std::string& pointer) const;
  Status check_reference(const Json& value, const std::string& pointer);
  Status check_choices(const Json::Array& choices, const std::string& pointer) const;

  bool widens() const { return can_follow_ != nullptr; }

  const Json& root_;
  const PatternTest *can_follow_;
  bool has_references_ = false;
  std::string nested_id_;  // where one is
  std::vector<SchemaPattern> patterns_;
};

bool is_dropped(std::string_view key, const Json& value, const Json& schema) {
  const bool *flag = value.as_bool();
  if (key == "uniqueItems" || key == "nullable") {
    return flag != nullptr && !*flag;
  }
  const Json *items = schema.find("items");
  return key == "additionalItems" && (items == nullptr || items->as_array() == nullptr);
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
  Json::Object out;
  for (const auto& [key, value] : *schema.as_object()) {
    if (is_dropped(key, value, schema)) {
      continue;
    }
    if ((key == "$id" || key == "id") && depth > 0) {
      nested_id_ = child(pointer, key);
    }
    if (is_schema_annotation(key)) {
      if (key == "$schema") {
        out.emplace_back(key, value);
      }
      continue;
    }
    Result<Json> checked = check_value(key, value, child(pointer, key), depth);
    if (!checked.ok() && widens() && !is_one_of(key, kLookedAt)) {
      continue;
    }
    if (!checked.ok()) {
      return checked;
    }
    // Of choices that exclude each other, any one is exactly one.
    if (key == "oneOf" && schema.find("anyOf") == nullptr) {
      out.emplace_back("anyOf", *std::move(checked));
    } else {
      out.emplace_back(key, *std::move(checked));
    }
  }
  return Json(std::move(out));
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
  }
  if (key == "pattern" && value.as_string() != nullptr) {
    ZLLM_TRY(check_pattern(*value.as_string(), pointer));
    patterns_.push_back({pointer, *value.as_string()});
  }
  if (double factor = 0; key == "multipleOf" && value.as_number(factor) && factor <= 0) {
    return refusal("has a multipleOf that is not above 0", pointer);
  }
  if (key == "format") {
    const std::string *format = value.as_string();
    if (format == nullptr || !is_one_of(*format, kFormats)) {
      return refusal(concat("uses the format ", format ? quote(*format) : value.dump(),
                            ", which is not supported,"),
                     pointer);
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

Status SchemaChecker::check_pattern(const std::string& pattern, const std::string& pointer) const {
  if (const Status whole = check_whole_pattern(pattern); !whole.ok()) {
    return Error{Code::invalid_argument,
                 concat("the pattern at ", quote(pointer), ": ", whole.error().message)};
  }
  if (widens() && !(*can_follow_)(pattern)) {
    return refusal("has a pattern that cannot be followed", pointer);
  }
  return {};
}

Result<Json> SchemaChecker::check_map(std::string_view key, const Json& value,
                                      const std::string& pointer, std::size_t depth) {
  if (value.as_object() == nullptr) {
    return refusal(concat("needs an object as ", quote(key)), pointer);
  }
  Json::Object out;
  for (const auto& [name, schema] : *value.as_object()) {
    if (key == "patternProperties") {
      ZLLM_TRY(check_pattern(name, child(pointer, name)));
    }
    ZLLM_TRY(Json checked, check_part(schema, child(pointer, name), depth + 1));
    out.emplace_back(name, std::move(checked));
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
  Json::Object out = {{"x-guidance", spacing()}};
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

Result<CheckedSchema> check_schema(std::string_view source) {
  return checked_schema(source, nullptr);
}

Result<CheckedSchema> widened_schema(std::string_view source,
                                     const std::function<bool(const std::string&)>& can_follow) {
  return checked_schema(source, &can_follow);
}

}  // namespace zllm::text
