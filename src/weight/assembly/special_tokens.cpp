#include <zllm/weight/assembly/special_tokens.h>

#include <algorithm>
#include <span>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kTokenIdEnding = "_token_id";
constexpr std::size_t kEndTokenLimit = 1024;  // looked at for every token that is generated

void add_once(std::vector<TokenId>& tokens, TokenId token) {
  if (std::ranges::find(tokens, token) == tokens.end()) {
    tokens.push_back(token);
  }
}

Error beyond(const ConfigReader& config, std::string_view key, const Json& value,
             std::uint64_t vocabulary) {
  return config.error(Code::invalid_file, key,
                      concat("must be the id of one of the ", vocabulary,
                             " tokens of the vocabulary, found ", describe(value)));
}

Result<std::vector<TokenId>> ids_of(const ConfigReader& config, std::string_view key,
                                    std::uint64_t vocabulary) {
  std::vector<TokenId> ids;
  if (!config.has(key)) {
    return ids;
  }
  const Json& value = config.at(key);
  const Json::Array *array = value.as_array();
  const std::span<const Json> items = array != nullptr ? std::span(*array) : std::span(&value, 1);
  if (items.size() > kEndTokenLimit) {
    return config.error(
        Code::invalid_file, key,
        concat("has ", items.size(), " entries; at most ", kEndTokenLimit, " are allowed"));
  }
  for (const Json& item : items) {
    std::uint64_t id = 0;
    if (!item.as_unsigned(id) || id >= vocabulary) {
      return beyond(config, key, item, vocabulary);
    }
    add_once(ids, static_cast<TokenId>(id));
  }
  return ids;
}

void warn_of_others(const ConfigReader& config, std::uint64_t vocabulary,
                    std::vector<std::string>& warnings) {
  for (const auto& [key, value] : config.members()) {
    std::uint64_t id = 0;
    if (key.ends_with(kTokenIdEnding) && key != "eos_token_id" && key != "bos_token_id" &&
        !value.is_null() && (!value.as_unsigned(id) || id >= vocabulary)) {
      warnings.push_back(beyond(config, key, value, vocabulary).message);
    }
  }
}

Status read_config(const ConfigReader& config, std::uint64_t vocabulary, SpecialTokens& tokens,
                   std::vector<std::string>& warnings) {
  ZLLM_TRY(auto end, ids_of(config, "eos_token_id", vocabulary));
  if (!end.empty()) {
    tokens.end = std::move(end);
  }
  if (config.has("bos_token_id") && config.at("bos_token_id").as_array() != nullptr) {
    return config.error(Code::invalid_file, "bos_token_id", "must be one id, found an array");
  }
  ZLLM_TRY(const auto begin, ids_of(config, "bos_token_id", vocabulary));
  if (!begin.empty()) {
    tokens.begin = begin.front();
  }
  warn_of_others(config, vocabulary, warnings);
  return {};
}

bool is_metadata_id(std::string_view key) {
  return key.starts_with("tokenizer.ggml.") && key.ends_with(kTokenIdEnding);
}

}  // namespace

Result<SpecialTokens> special_tokens_from_config(const Json& config, const Json *generation_config,
                                                 std::uint64_t vocabulary,
                                                 std::vector<std::string>& warnings) {
  SpecialTokens tokens;
  ZLLM_TRY(const auto model, ConfigReader::open(config, "config.json"));
  ZLLM_TRY(read_config(model, vocabulary, tokens, warnings));
  if (generation_config != nullptr) {
    ZLLM_TRY(const auto generation,
             ConfigReader::open(*generation_config, "generation_config.json"));
    ZLLM_TRY(read_config(generation, vocabulary, tokens, warnings));
  }
  return tokens;
}

Result<SpecialTokens> special_tokens_from_metadata(const GgufMetadata& metadata,
                                                   std::uint64_t vocabulary,
                                                   std::vector<std::string>& warnings) {
  SpecialTokens tokens;
  for (const auto& [key, value] : metadata.items()) {
    if (!is_metadata_id(key)) {
      continue;
    }
    const bool begins = key == "tokenizer.ggml.bos_token_id";
    const bool ends = key == "tokenizer.ggml.eos_token_id";
    const auto id = metadata.unsigned_integer(key);
    if (!id.ok() || !id.value() || *id.value() >= vocabulary) {
      std::string text =
          id.ok() ? concat("metadata key ", key, " must be the id of one of the ", vocabulary,
                           " tokens of the vocabulary, found ", id.value().value_or(0))
                  : id.error().message;
      if (begins || ends) {
        return Error{Code::invalid_file, std::move(text)};
      }
      warnings.push_back(std::move(text));
      continue;
    }
    const auto token = static_cast<TokenId>(*id.value());
    if (begins) {
      tokens.begin = token;
    } else if (ends || key == "tokenizer.ggml.eot_token_id" ||
               key == "tokenizer.ggml.eom_token_id") {
      add_once(tokens.end, token);
    }
  }
  return tokens;
}

}  // namespace zllm::weight
