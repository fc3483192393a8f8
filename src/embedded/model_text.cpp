#include <zllm/embedded/model_text.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>
#include <zllm/base/text_file.h>
#include <zllm/text/tokenizer_files.h>
#include <zllm/weight/container/gguf.h>

namespace zllm {
namespace {

namespace fs = std::filesystem;
using weight::GgufMetadata;

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

// additional_chat_templates/NAME.jinja, by name.
Result<std::vector<text::NamedTemplate>> read_additional(const std::string& folder) {
  std::vector<text::NamedTemplate> templates;
  std::error_code ignored;
  fs::directory_iterator entry(fs::path(folder) / "additional_chat_templates", ignored);
  for (; !ignored && entry != fs::directory_iterator(); entry.increment(ignored)) {
    if (entry->path().extension() == ".jinja") {
      ZLLM_TRY(std::string source, read_text_file(entry->path().string()));
      templates.push_back({.name = entry->path().stem().string(), .source = std::move(source)});
    }
  }
  std::ranges::sort(templates, {}, &text::NamedTemplate::name);
  return templates;
}

Result<ModelText> from_folder(const std::string& folder) {
  ZLLM_TRY(text::TokenizerFiles files, text::load_tokenizer_files(folder));
  ZLLM_TRY(const auto additional, read_additional(folder));
  std::optional<std::string> source;
  const std::string file = (fs::path(folder) / "chat_template.jinja").string();
  if (fs::exists(file)) {
    ZLLM_TRY(source, read_text_file(file));
  }
  auto templates = text::ChatTemplateSet::from_folder(
      files.config, source ? std::optional<std::string_view>(*source) : std::nullopt, additional);
  if (!templates.ok()) {
    return std::move(templates).error().within(folder);
  }
  return ModelText{.tokenizer = std::move(files.tokenizer),
                   .templates = *std::move(templates),
                   .special_tokens = text::special_tokens_of(files.config)};
}

template <class T>
T or_empty(std::optional<T> value) {
  return value ? *std::move(value) : T();
}

std::string key(std::string_view name) { return concat("tokenizer.ggml.", name); }

Result<text::Tokenizer> tokenizer_of(const GgufMetadata& metadata,
                                     const std::string& pre_tokenizer) {
  ZLLM_TRY(const auto tokens, metadata.strings(key("tokens")));
  ZLLM_TRY(const auto scores, metadata.numbers(key("scores")));
  ZLLM_TRY(const auto types, metadata.integers(key("token_type")));
  ZLLM_TRY(const auto merges, metadata.strings(key("merges")));
  const auto all_tokens = or_empty(tokens);
  const auto all_scores = or_empty(scores);
  const auto all_types = or_empty(types);
  const auto all_merges = or_empty(merges);
  text::GgufVocabulary vocabulary;
  ZLLM_TRY(const auto model, metadata.string(key("model")));
  if (!model) {
    return Error{Code::not_found, "the file has no tokenizer (tokenizer.ggml.model is missing)"};
  }
  vocabulary.model = *model;
  ZLLM_TRY(vocabulary.pre_tokenizer, metadata.string(key("pre")));
  vocabulary.tokens = all_tokens;
  vocabulary.scores = all_scores;
  vocabulary.types = all_types;
  vocabulary.merges = all_merges;
  ZLLM_TRY(vocabulary.begin_of_sequence, metadata.unsigned_integer(key("bos_token_id")));
  ZLLM_TRY(vocabulary.end_of_sequence, metadata.unsigned_integer(key("eos_token_id")));
  ZLLM_TRY(vocabulary.end_of_turn, metadata.unsigned_integer(key("eot_token_id")));
  ZLLM_TRY(vocabulary.unknown, metadata.unsigned_integer(key("unknown_token_id")));
  ZLLM_TRY(vocabulary.padding, metadata.unsigned_integer(key("padding_token_id")));
  ZLLM_TRY(vocabulary.add_begin, metadata.boolean(key("add_bos_token")));
  ZLLM_TRY(vocabulary.add_space_prefix, metadata.boolean(key("add_space_prefix")));
  if (!pre_tokenizer.empty()) {
    vocabulary.pre_tokenizer_override = pre_tokenizer;
  }
  return text::Tokenizer::from_gguf(vocabulary);
}

// The spellings that templates see.
Result<text::SpecialTokens> special_tokens_of(const GgufMetadata& metadata) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames = {
      {{"bos_token", "bos_token_id"},
       {"eos_token", "eos_token_id"},
       {"unk_token", "unknown_token_id"},
       {"pad_token", "padding_token_id"}}};
  text::SpecialTokens special;
  ZLLM_TRY(const auto strings, metadata.strings(key("tokens")));
  const auto tokens = or_empty(strings);
  for (const auto& [name, id_key] : kNames) {
    ZLLM_TRY(const auto id, metadata.unsigned_integer(key(id_key)));
    if (id && *id < tokens.size()) {
      special.emplace_back(name, tokens[static_cast<std::size_t>(*id)]);
    }
  }
  return special;
}

Result<ModelText> from_metadata(const GgufMetadata& metadata, const std::string& pre_tokenizer) {
  ZLLM_TRY(text::Tokenizer tokenizer, tokenizer_of(metadata, pre_tokenizer));
  std::vector<std::pair<std::string_view, std::string_view>> sources;
  for (const auto& [name, value] : metadata.items()) {
    // tokenizer.chat_templates lists the names of the others and is no template itself.
    if (name != kTemplateKey && !name.starts_with(concat(kTemplateKey, "."))) {
      continue;
    }
    const auto *source = std::get_if<std::string_view>(&value);
    if (source == nullptr) {
      return Error{Code::invalid_file, concat(name, " must be a string")};
    }
    sources.emplace_back(name, *source);
  }
  ZLLM_TRY(text::ChatTemplateSet templates, text::ChatTemplateSet::from_gguf(sources));
  ZLLM_TRY(text::SpecialTokens special, special_tokens_of(metadata));
  return ModelText{.tokenizer = std::move(tokenizer),
                   .templates = std::move(templates),
                   .special_tokens = std::move(special)};
}

Result<ModelText> from_gguf(const std::string& path, const std::string& pre_tokenizer) {
  ZLLM_TRY(const MappedFile file, MappedFile::open(path));
  auto contents = weight::parse_gguf(file.bytes());
  ZLLM_TRY(file.check());
  if (!contents.ok()) {
    return std::move(contents).error().within(path);
  }
  auto made = from_metadata(contents->metadata, pre_tokenizer);
  ZLLM_TRY(file.check());
  if (!made.ok()) {
    return std::move(made).error().within(path);
  }
  return made;
}

}  // namespace

Result<ModelText> load_model_text(const std::string& path, const std::string& pre_tokenizer) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? from_folder(path) : from_gguf(path, pre_tokenizer);
}

Result<std::string> render_request(const ModelText& text, std::string_view request) {
  ZLLM_TRY(const Json json, Json::parse(request, "the request"));
  const Json *tools = json.find("tools");
  const bool has_tools =
      tools != nullptr && tools->as_array() != nullptr && !tools->as_array()->empty();
  ZLLM_TRY(const text::ChatTemplate chosen, text.templates.choose(has_tools));
  return chosen.render(request, {.special_tokens = text.special_tokens, .local_seconds = {}});
}

}  // namespace zllm
