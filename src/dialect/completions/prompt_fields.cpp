#include <zllm/dialect/completions/prompt_fields.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::completions {
namespace {

constexpr IntegerRange kTokenRange{.least = 0, .most = std::numeric_limits<TokenId>::max()};

bool is_number(const Json& value) {
  double number = 0;
  return value.as_number(number);
}

Outcome<RawPrompt> read_ids(const Json::Array& values, const std::string& path) {
  std::vector<TokenId> ids;
  ids.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ZLLM_TRY(const std::int64_t id, read_integer(values[i], element_path(path, i), kTokenRange));
    ids.push_back(static_cast<TokenId>(id));
  }
  if (ids.empty()) {
    return wrong_value(path, "must have at least one token");
  }
  return RawPrompt{std::move(ids)};
}

// A text or an array of ids.
Outcome<RawPrompt> read_prompt(const Json& value, const std::string& path) {
  if (const std::string *text = value.as_string()) {
    return RawPrompt{*text};
  }
  const Json::Array *ids = value.as_array();
  if (ids == nullptr) {
    return wrong_type(path, "a string or an array of tokens", value);
  }
  return read_ids(*ids, path);
}

}  // namespace

std::vector<RawPrompt> read_prompts(FieldReader& fields) {
  std::vector<RawPrompt> prompts;
  fields.require("prompt");
  const Json *value = fields.take("prompt");
  if (value == nullptr) {
    return prompts;
  }
  const Json::Array *values = value->as_array();
  const bool is_one = values == nullptr || values->empty() || is_number(values->front());
  if (is_one) {
    if (auto prompt = fields.keep(read_prompt(*value, "prompt"))) {
      prompts.push_back(std::move(*prompt));
    }
    return prompts;
  }
  if (values->size() > kMaxPrompts) {
    fields.fail("prompt", concat("has ", values->size(), " prompts, more than ", kMaxPrompts));
  }
  for (std::size_t i = 0; i < values->size() && fields.ok(); ++i) {
    if (auto prompt = fields.keep(read_prompt((*values)[i], element_path("prompt", i)))) {
      prompts.push_back(std::move(*prompt));
    }
  }
  return prompts;
}

}  // namespace zllm::dialect::completions
