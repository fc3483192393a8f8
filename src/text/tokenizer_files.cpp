#include <zllm/text/tokenizer_files.h>

#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/text_file.h>

namespace zllm::text {
namespace {

// Nothing when the file does not exist.
Result<std::optional<std::string>> read_optional(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (text.ok()) {
    return std::optional<std::string>(std::move(*text));
  }
  if (text.error().code == Code::not_found) {
    return std::optional<std::string>();
  }
  return std::move(text).error();
}

// A token is a string or an object with its spelling in "content".
std::optional<std::string> spelling(const Json& config, std::string_view key) {
  const Json *entry = config.find(key);
  if (entry != nullptr && entry->as_object() != nullptr) {
    entry = entry->find("content");
  }
  const std::string *text = entry != nullptr ? entry->as_string() : nullptr;
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

// One template, or the one named "default" of a list.
std::optional<std::string> configured_template(const Json& config) {
  const Json *entry = config.find("chat_template");
  if (entry == nullptr) {
    return std::nullopt;
  }
  if (const std::string *text = entry->as_string()) {
    return *text;
  }
  if (const Json::Array *list = entry->as_array()) {
    for (const Json& one : *list) {
      const Json *name = one.find("name");
      const Json *text = one.find("template");
      if (name != nullptr && name->as_string() != nullptr && *name->as_string() == "default" &&
          text != nullptr && text->as_string() != nullptr) {
        return *text->as_string();
      }
    }
  }
  return std::nullopt;
}

// tokenizer_config.json may ask for a begin token that tokenizer.json does not add, or the reverse.
Tokenizer configured(const Tokenizer& tokenizer, const Json& config,
                     const std::optional<std::string>& bos, const std::optional<std::string>& eos) {
  Tokenizer out = tokenizer;
  const std::optional<TokenId> begin = bos ? tokenizer.id_of(*bos) : std::nullopt;
  const Json *add = config.find("add_bos_token");
  if (add != nullptr && add->as_bool() != nullptr) {
    out = out.with_begin(begin, *add->as_bool());
  } else if (begin && out.begin_tokens().empty()) {
    out = out.with_begin(begin, false);
  }
  if (const std::optional<TokenId> end = eos ? tokenizer.id_of(*eos) : std::nullopt) {
    out = out.with_end_tokens({*end});
  }
  return out;
}

}  // namespace

Result<TokenizerFiles> load_tokenizer_files(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  ZLLM_TRY(const std::string text, read_text_file(path));
  Result<Tokenizer> tokenizer = Tokenizer::from_json(text);
  if (!tokenizer.ok()) {
    return std::move(tokenizer).error().within(path);
  }
  TokenizerFiles files{
      .tokenizer = *tokenizer, .config = {}, .chat_template = {}, .bos_token = {}, .eos_token = {}};
  const std::string config_path = folder + "/tokenizer_config.json";
  ZLLM_TRY(const std::optional<std::string> config, read_optional(config_path));
  if (config) {
    ZLLM_TRY(files.config, Json::parse(*config, config_path));
  }
  files.bos_token = spelling(files.config, "bos_token");
  files.eos_token = spelling(files.config, "eos_token");
  files.tokenizer = configured(files.tokenizer, files.config, files.bos_token, files.eos_token);
  ZLLM_TRY(files.chat_template, read_optional(folder + "/chat_template.jinja"));
  if (!files.chat_template) {
    files.chat_template = configured_template(files.config);
  }
  return files;
}

}  // namespace zllm::text
