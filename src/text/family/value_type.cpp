#include <zllm/text/family/value_type.h>

#include <array>
#include <cmath>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::text::family {
namespace {

constexpr int kMaxVisited = 256;  // schemas may refer in a circle

constexpr std::array<std::pair<std::string_view, ValueTypes>, 7> kNames = {{
    {"string", kStringType},
    {"integer", kIntegerType},
    {"number", kNumberType | kIntegerType},
    {"boolean", kBooleanType},
    {"null", kNullType},
    {"array", kArrayType},
    {"object", kObjectType},
}};

ValueTypes named(std::string_view name) {
  for (const auto& [known, types] : kNames) {
    if (known == name) {
      return types;
    }
  }
  return kAnyType;
}

ValueTypes of_value(const Json& value) {
  double number = 0;
  if (value.as_number(number)) {
    return number == std::floor(number) ? kIntegerType : kNumberType;
  }
  return named(value.type_name());
}

std::string unescaped(std::string_view token) {
  std::string plain;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      ++i;
      plain += token[i] == '1' ? '/' : '~';
    } else {
      plain += token[i];
    }
  }
  return plain;
}

// A JSON pointer "#/a/b" (RFC 6901) into the document; null when nothing is there.
const Json *resolve(const Json& document, std::string_view reference) {
  if (!reference.starts_with('#')) {
    return nullptr;
  }
  const Json *at = &document;
  reference.remove_prefix(1);
  while (at != nullptr && reference.starts_with('/')) {
    reference.remove_prefix(1);
    const std::string_view token = reference.substr(0, reference.find('/'));
    reference.remove_prefix(token.size());
    std::size_t index = 0;
    if (const Json::Array *array = at->as_array()) {
      at = parse_number(token, index) && index < array->size() ? &(*array)[index] : nullptr;
    } else {
      at = at->find(unescaped(token));
    }
  }
  return reference.empty() ? at : nullptr;
}

class TypeFinder {
 public:
  explicit TypeFinder(const Json& document) : document_(document) {}

  const Json& referred(const Json& schema) { return *followed(&schema); }

  ValueTypes argument(const Json& schema, std::string_view key) {
    const Json *target = followed(&schema);
    if (const Json *properties = target->find("properties")) {
      if (const Json *property = properties->find(key)) {
        return types(*property);
      }
    }
    const Json *others = target->find("additionalProperties");
    return others != nullptr ? types(*others) : kAnyType;
  }

 private:
  const Json *followed(const Json *schema) {
    for (; visited_ < kMaxVisited; ++visited_) {
      const Json *reference = schema->find("$ref");
      const std::string *text = reference != nullptr ? reference->as_string() : nullptr;
      const Json *target = text != nullptr ? resolve(document_, *text) : nullptr;
      if (target == nullptr) {
        break;
      }
      schema = target;
    }
    return schema;
  }

  ValueTypes types(const Json& schema) {
    if (++visited_ > kMaxVisited) {
      return kAnyType;
    }
    const Json *target = followed(&schema);
    ValueTypes found = kAnyType;
    if (const Json *type = target->find("type")) {
      found &= listed(*type);
    }
    if (const Json *value = target->find("const")) {
      found &= of_value(*value);
    }
    if (const Json *values = target->find("enum")) {
      found &= any_of(values->as_array(), [](const Json& value) { return of_value(value); });
    }
    for (const std::string_view choice : {"anyOf", "oneOf"}) {
      if (const Json *choices = target->find(choice)) {
        found &= any_of(choices->as_array(), [this](const Json& value) { return types(value); });
      }
    }
    if (const Json *parts = target->find("allOf")) {
      if (const Json::Array *array = parts->as_array()) {
        for (const Json& part : *array) {
          found &= types(part);
        }
      }
    }
    const Json *nullable = target->find("nullable");
    if (nullable != nullptr && nullable->as_bool() != nullptr && *nullable->as_bool()) {
      found |= kNullType;
    }
    return found == 0 ? kAnyType : found;
  }

  static ValueTypes listed(const Json& type) {
    if (const std::string *name = type.as_string()) {
      return named(*name);
    }
    return any_of(type.as_array(), [](const Json& name) {
      return name.as_string() != nullptr ? named(*name.as_string()) : kAnyType;
    });
  }

  template <class Types>
  static ValueTypes any_of(const Json::Array *choices, Types types) {
    ValueTypes found = 0;
    if (choices != nullptr) {
      for (const Json& choice : *choices) {
        found |= types(choice);
      }
    }
    return found == 0 ? kAnyType : found;
  }

  const Json& document_;
  int visited_ = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

const Json& referred_schema(const Json& document, const Json& schema) {
  return TypeFinder(document).referred(schema);
}

ValueTypes argument_types(const Json& schema, std::string_view key) {
  return TypeFinder(schema).argument(schema, key);
}

std::string typed_value(std::string_view text, ValueTypes types) {
  const std::string_view plain = trimmed(text);
  if (types != kStringType) {
    const Result<Json> value = Json::parse(plain, "argument");
    if (value.ok() && value->as_string() == nullptr && (of_value(*value) & types) != 0) {
      return std::string(plain);
    }
  }
  if ((types & kStringType) == 0) {
    // As models trained on Python write them.
    if ((types & kBooleanType) != 0 && (plain == "True" || plain == "False")) {
      return plain == "True" ? "true" : "false";
    }
    if ((types & kNullType) != 0 && plain == "None") {
      return "null";
    }
  }
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

}  // namespace zllm::text::family
