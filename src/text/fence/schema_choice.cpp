#include <zllm/text/fence/schema_choice.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::text {
namespace {

constexpr auto kAnnotations = std::to_array<std::string_view>(
    {"$anchor", "$comment", "$id", "$schema", "contentEncoding", "contentMediaType", "default",
     "deprecated", "description", "discriminator", "example", "examples", "externalDocs", "id",
     "readOnly", "title", "writeOnly", "xml"});

constexpr unsigned kAllTypes = 0x7f;

unsigned type_bits(std::string_view name) {
  constexpr auto kTypes = std::to_array<std::string_view>(
      {"null", "boolean", "string", "array", "object", "integer", "number"});
  const auto found = std::find(kTypes.begin(), kTypes.end(), name);
  if (found == kTypes.end()) {
    return kAllTypes;
  }
  return name == "number" ? 0x60U : 1U << (found - kTypes.begin());
}

struct Constants {
  unsigned types = 0;
  std::vector<std::string> texts = {};  // sorted; equal values have equal texts
};

// The values of "const" or "enum"; nothing when there are others.
std::optional<Constants> constants_of(const Json& schema) {
  const Json *constant = schema.find("const");
  const Json *values = schema.find("enum");
  if (constant == nullptr && (values == nullptr || values->as_array() == nullptr)) {
    return std::nullopt;
  }
  Constants out;
  const auto add = [&](const Json& value) {
    double number = 0;
    out.types |= type_bits(value.type_name());
    out.texts.push_back(value.as_number(number) ? to_text(number) : value.dump());
  };
  if (constant != nullptr) {
    add(*constant);
  } else {
    std::for_each(values->as_array()->begin(), values->as_array()->end(), add);
  }
  std::sort(out.texts.begin(), out.texts.end());
  return out;
}

unsigned types_of(const Json& schema) {
  const Json *type = schema.find("type");
  if (type != nullptr && type->as_string() != nullptr) {
    return type_bits(*type->as_string());
  }
  unsigned bits = 0;
  if (type != nullptr && type->as_array() != nullptr) {
    for (const Json& name : *type->as_array()) {
      bits |= name.as_string() != nullptr ? type_bits(*name.as_string()) : kAllTypes;
    }
    return bits;
  }
  const std::optional<Constants> constants = constants_of(schema);
  return constants ? constants->types : kAllTypes;
}

bool share_a_constant(const Json& a, const Json& b) {
  const std::optional<Constants> left = constants_of(a);
  const std::optional<Constants> right = constants_of(b);
  if (!left || !right) {
    return true;
  }
  return std::any_of(left->texts.begin(), left->texts.end(), [&](const std::string& text) {
    return std::binary_search(right->texts.begin(), right->texts.end(), text);
  });
}

bool requires_member(const Json& schema, std::string_view name) {
  const Json *required = schema.find("required");
  return required != nullptr && required->as_array() != nullptr &&
         std::any_of(required->as_array()->begin(), required->as_array()->end(),
                     [&](const Json& key) {
                       return key.as_string() != nullptr && *key.as_string() == name;
                     });
}

// A segment of a pointer without its escapes.
std::string plain_segment(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const bool is_escape = segment[i] == '~' && i + 1 < segment.size();
    i += is_escape ? 1U : 0U;
    out += !is_escape ? segment[i] : segment[i] == '1' ? '/' : '~';
  }
  return out;
}

const Json& resolved(const Json& root, const Json& schema) {
  const Json *target = target_of(root, schema);
  return target != nullptr ? *target : schema;
}

}  // namespace

bool is_schema_annotation(std::string_view key) {
  return std::find(kAnnotations.begin(), kAnnotations.end(), key) != kAnnotations.end() ||
         (key.starts_with("x-") && key != "x-guidance");
}

std::string decoded_reference(std::string_view reference) {
  std::string out;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    unsigned code = 0;
    const char *digits = reference.data() + i + 1;
    if (reference[i] == '%' && i + 2 < reference.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += reference[i];
    }
  }
  return out;
}

const Json *find_schema(const Json& root, std::string_view written) {
  const std::string reference = decoded_reference(written);
  if (reference == "#" || reference == "#/") {
    return &root;
  }
  if (!reference.starts_with("#/")) {
    return nullptr;
  }
  const Json *at = &root;
  for (std::size_t start = 2; at != nullptr && start <= reference.size();) {
    const std::size_t end = std::min(reference.find('/', start), reference.size());
    const std::string segment = plain_segment(reference.substr(start, end - start));
    std::size_t index = 0;
    if (const Json::Array *array = at->as_array()) {
      at = parse_number(segment, index) && index < array->size() ? &(*array)[index] : nullptr;
    } else {
      at = at->find(segment);
    }
    start = end + 1;
  }
  return at;
}

const Json *target_of(const Json& root, const Json& schema) {
  const Json *reference = schema.find("$ref");
  if (reference == nullptr || reference->as_string() == nullptr) {
    return nullptr;
  }
  for (const auto& [key, value] : *schema.as_object()) {
    if (key != "$ref" && !is_schema_annotation(key)) {
      return nullptr;
    }
  }
  return find_schema(root, *reference->as_string());
}

bool are_disjoint(const Json& root, const Json& a, const Json& b) {
  const Json& left = resolved(root, a);
  const Json& right = resolved(root, b);
  if ((types_of(left) & types_of(right)) == 0 || !share_a_constant(left, right)) {
    return true;
  }
  const unsigned object = type_bits("object");
  const Json *members = left.find("properties");
  const Json *others = right.find("properties");
  if (types_of(left) != object || types_of(right) != object || members == nullptr ||
      others == nullptr || members->as_object() == nullptr) {
    return false;
  }
  for (const auto& [name, member] : *members->as_object()) {
    const Json *other = others->find(name);
    if (other != nullptr && (requires_member(left, name) || requires_member(right, name)) &&
        !share_a_constant(resolved(root, member), resolved(root, *other))) {
      return true;
    }
  }
  return false;
}

}  // namespace zllm::text
