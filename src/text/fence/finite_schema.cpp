#include <zllm/text/fence/finite_schema.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/text/fence/schema_choice.h>

namespace zllm::text {
namespace {

// Chains of references that are longer, and told in the worst order, are taken to end.
constexpr int kMaxPasses = 64;

struct Part {
  const Json *schema;
  std::string pointer;
};

class FiniteParts {
 public:
  explicit FiniteParts(const Json& root) : root_(root) { collect(root, ""); }

  std::string first_endless() {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      const std::size_t before = finite_.size();
      for (const Part& part : parts_) {
        if (is_finite(*part.schema)) {
          finite_.insert(part.schema);
        }
      }
      if (finite_.size() == before) {
        const auto endless = std::find_if(parts_.rbegin(), parts_.rend(), [&](const Part& part) {
          return !finite_.contains(part.schema);
        });
        return endless == parts_.rend() ? "" : endless->pointer.empty() ? "/" : endless->pointer;
      }
    }
    return "";
  }

 private:
  // Children first, which spares passes. Any object may be referred to; those that are no schemas
  // do no harm.
  void collect(const Json& value, const std::string& pointer) {
    if (const Json::Object *members = value.as_object()) {
      for (const auto& [key, member] : *members) {
        collect(member, concat(pointer, "/", key));
      }
      parts_.push_back({&value, pointer});
    } else if (const Json::Array *items = value.as_array()) {
      for (std::size_t i = 0; i < items->size(); ++i) {
        collect((*items)[i], concat(pointer, "/", to_text(i)));
      }
    }
  }

  bool knows(const Json *schema) const {
    return schema == nullptr || schema->as_object() == nullptr || finite_.contains(schema);
  }

  bool is_finite(const Json& schema) const {
    if (schema.find("const") != nullptr || schema.find("enum") != nullptr) {
      return true;
    }
    if (const Json *reference = schema.find("$ref");
        reference != nullptr && reference->as_string() != nullptr &&
        !knows(find_schema(root_, *reference->as_string()))) {
      return false;
    }
    const auto known = [&](const Json& part) { return knows(&part); };
    const Json *all = schema.find("allOf");
    if (all != nullptr && all->as_array() != nullptr &&
        !std::all_of(all->as_array()->begin(), all->as_array()->end(), known)) {
      return false;
    }
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      const Json *any = schema.find(key);
      if (any != nullptr && any->as_array() != nullptr && !any->as_array()->empty() &&
          std::none_of(any->as_array()->begin(), any->as_array()->end(), known)) {
        return false;
      }
    }
    const Json *type = schema.find("type");
    const std::string *name = type != nullptr ? type->as_string() : nullptr;
    return name == nullptr || (*name == "object"  ? has_finite_members(schema)
                               : *name == "array" ? has_finite_items(schema)
                                                  : true);
  }

  bool has_finite_members(const Json& schema) const {
    const Json *required = schema.find("required");
    const Json *members = schema.find("properties");
    if (required == nullptr || required->as_array() == nullptr || members == nullptr) {
      return true;
    }
    return std::all_of(
        required->as_array()->begin(), required->as_array()->end(), [&](const Json& key) {
          return key.as_string() == nullptr || knows(members->find(*key.as_string()));
        });
  }

  bool has_finite_items(const Json& schema) const {
    std::uint64_t least = 0;
    const Json *minimum = schema.find("minItems");
    if (minimum == nullptr || !minimum->as_unsigned(least) || least == 0) {
      return true;
    }
    const Json *prefix = schema.find("prefixItems");
    const std::size_t size =
        prefix != nullptr && prefix->as_array() ? prefix->as_array()->size() : 0;
    for (std::size_t i = 0; i < std::min<std::uint64_t>(size, least); ++i) {
      if (!knows(&(*prefix->as_array())[i])) {
        return false;
      }
    }
    return least <= size || knows(schema.find("items"));
  }

  const Json& root_;
  std::vector<Part> parts_;
  std::unordered_set<const Json *> finite_;
};

}  // namespace

std::string endless_part(const Json& root) { return FiniteParts(root).first_endless(); }

}  // namespace zllm::text
