#include <zllm/text/chat_template.h>

#include <ctime>

#include <array>

#include <zllm/edge/template.h>

namespace zllm::text {
namespace {

// Those that transformers hands to templates.
constexpr std::array<std::string_view, 7> kTokenNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// The text of a token, which stands for itself or in the "content" of an object.
const std::string *token_text(const Json *token) {
  if (token == nullptr) {
    return nullptr;
  }
  if (const std::string *text = token->as_string()) {
    return text;
  }
  const Json *content = token->find("content");
  return content == nullptr ? nullptr : content->as_string();
}

void add_tokens(const Json *object, SpecialTokens& tokens) {
  const Json::Object *members = object == nullptr ? nullptr : object->as_object();
  if (members == nullptr) {
    return;
  }
  for (const auto& [name, token] : *members) {
    if (const std::string *text = token_text(&token)) {
      tokens.emplace_back(name, *text);
    }
  }
}

std::string to_json(const SpecialTokens& tokens) {
  std::string json = "{";
  for (const auto& [name, text] : tokens) {
    if (json.size() > 1) {
      json += ',';
    }
    append_json_string(json, name);
    json += ':';
    append_json_string(json, text);
  }
  return json += '}';
}

std::int64_t host_seconds() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  if (localtime_r(&now, &local) == nullptr) {
    return static_cast<std::int64_t>(now);
  }
  return static_cast<std::int64_t>(now) + local.tm_gmtoff;
}

}  // namespace

struct ChatTemplate::State {
  edge::Template compiled;
  std::string source;
};

SpecialTokens special_tokens_of(const Json& tokenizer_config) {
  SpecialTokens tokens;
  for (const std::string_view name : kTokenNames) {
    if (const std::string *text = token_text(tokenizer_config.find(name))) {
      tokens.emplace_back(name, *text);
    }
  }
  // A tokenizer's own named tokens, such as an image token.
  add_tokens(tokenizer_config.find("extra_special_tokens"), tokens);
  add_tokens(tokenizer_config.find("model_specific_special_tokens"), tokens);
  return tokens;
}

Result<ChatTemplate> ChatTemplate::compile(std::string_view source) {
  Result<edge::Template> compiled = edge::Template::compile(source);
  if (!compiled.ok()) {
    return std::move(compiled).error().within("chat template");
  }
  ZLLM_TRY(const bool tools, compiled->reads("tools"));
  ZLLM_TRY(const bool documents, compiled->reads("documents"));
  ChatTemplate made(
      std::make_shared<const State>(State{std::move(compiled).value(), std::string(source)}));
  made.mentions_tools_ = tools;
  made.mentions_documents_ = documents;
  return made;
}

std::string_view ChatTemplate::source() const { return state_->source; }

Result<std::string> ChatTemplate::render(std::string_view request,
                                         const RenderOptions& options) const {
  const std::int64_t seconds = options.local_seconds ? *options.local_seconds : host_seconds();
  return state_->compiled.render(request, to_json(options.special_tokens), seconds);
}

}  // namespace zllm::text
