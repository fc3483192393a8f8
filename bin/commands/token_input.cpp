#include "token_input.h"

#include <cstdint>

#include <zllm/base/checked.h>
#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/text_file.h>

namespace zllm::commands {
namespace {

constexpr std::size_t kTokenFileLimit = 64 * 1024 * 1024;  // far more ids than any context

Result<Json> read_json(const std::string& path) {
  ZLLM_TRY(const std::string text, read_text_file(path, kTokenFileLimit));
  return Json::parse(text, path);
}

Result<std::vector<TokenId>> to_tokens(const Json& json, std::string_view what) {
  const Json::Array *array = json.as_array();
  if (array == nullptr) {
    return Error{Code::invalid_argument,
                 concat(what, ": expected an array of token ids, found ", json.type_name())};
  }
  std::vector<TokenId> tokens;
  tokens.reserve(array->size());
  for (const Json& item : *array) {
    std::int64_t value = 0;
    const auto token = item.as_integer(value) ? checked_cast<TokenId>(value) : std::nullopt;
    if (!token) {
      return Error{Code::invalid_argument,
                   concat(what, ": item ", tokens.size(), " is no token id")};
    }
    tokens.push_back(*token);
  }
  return tokens;
}

}  // namespace

Result<std::vector<TokenId>> parse_token_list(std::string_view text) {
  std::vector<TokenId> tokens;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    TokenId token = 0;
    if (!parse_number(item, token)) {
      return Error{Code::invalid_argument, concat("--tokens: ", quote(item), " is no token id")};
    }
    tokens.push_back(token);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (comma != std::string_view::npos && text.empty()) {
      return Error{Code::invalid_argument, "--tokens: ends with a comma"};
    }
  }
  return tokens;
}

Result<std::vector<TokenId>> read_tokens(const std::string& path) {
  ZLLM_TRY(const Json json, read_json(path));
  return to_tokens(json, path);
}

Result<std::vector<std::vector<TokenId>>> read_token_sequences(const std::string& path) {
  ZLLM_TRY(const Json json, read_json(path));
  const Json::Array *array = json.as_array();
  if (array == nullptr) {
    return Error{Code::invalid_argument,
                 concat(path, ": expected an array of arrays, found ", json.type_name())};
  }
  std::vector<std::vector<TokenId>> sequences;
  for (const Json& item : *array) {
    ZLLM_TRY(sequences.emplace_back(), to_tokens(item, path));
  }
  if (sequences.empty()) {
    return Error{Code::invalid_argument, concat(path, ": has no sequences")};
  }
  return sequences;
}

}  // namespace zllm::commands
