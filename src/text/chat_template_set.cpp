#include <zllm/text/chat_template_set.h>

#include <zllm/base/text.h>

namespace zllm::text {
namespace {

constexpr std::string_view kDefault = "default";
constexpr std::string_view kToolUse = "tool_use";
constexpr std::string_view kGgufKey = "tokenizer.chat_template";

Error malformed(std::string_view what) {
  return {Code::invalid_file, concat("tokenizer_config.json: chat_template ", what)};
}

}  // namespace

Status ChatTemplateSet::add(std::string_view name, std::string_view source) {
  Result<ChatTemplate> compiled = ChatTemplate::compile(source);
  if (!compiled.ok()) {
    return name == kDefault ? std::move(compiled).error()
                            : std::move(compiled).error().within(quote(name));
  }
  for (Compiled& other : templates_) {
    if (other.name == name) {
      other.compiled = std::move(compiled).value();
      return {};
    }
  }
  templates_.push_back({std::string(name), std::move(compiled).value()});
  return {};
}

const ChatTemplate *ChatTemplateSet::find(std::string_view name) const {
  for (const Compiled& compiled : templates_) {
    if (compiled.name == name) {
      return &compiled.compiled;
    }
  }
  return nullptr;
}

Result<ChatTemplateSet> ChatTemplateSet::from_folder(const Json& tokenizer_config,
                                                     std::optional<std::string_view> template_file,
                                                     std::span<const NamedTemplate> additional) {
  ChatTemplateSet set;
  if (template_file || !additional.empty()) {
    if (template_file) {
      ZLLM_TRY(set.add(kDefault, *template_file));
    }
    for (const NamedTemplate& named : additional) {
      ZLLM_TRY(set.add(named.name, named.source));
    }
    return set;
  }
  const Json *entry = tokenizer_config.find("chat_template");
  if (entry == nullptr || entry->is_null()) {
    return set;
  }
  if (const std::string *source = entry->as_string()) {
    ZLLM_TRY(set.add(kDefault, *source));
    return set;
  }
  const Json::Array *list = entry->as_array();
  if (list == nullptr) {
    return malformed(concat("is of type ", entry->type_name()));
  }
  for (const Json& item : *list) {
    const Json *name = item.find("name");
    const Json *source = item.find("template");
    if (name == nullptr || source == nullptr || name->as_string() == nullptr ||
        source->as_string() == nullptr) {
      return malformed("has an entry without the strings name and template");
    }
    ZLLM_TRY(set.add(*name->as_string(), *source->as_string()));
  }
  return set;
}

Result<ChatTemplateSet> ChatTemplateSet::from_gguf(
    std::span<const std::pair<std::string_view, std::string_view>> entries) {
  ChatTemplateSet set;
  for (const auto& [key, source] : entries) {
    if (key == kGgufKey) {
      ZLLM_TRY(set.add(kDefault, source));
    } else if (key.starts_with(kGgufKey) && key.size() > kGgufKey.size() + 1 &&
               key[kGgufKey.size()] == '.') {
      ZLLM_TRY(set.add(key.substr(kGgufKey.size() + 1), source));
    }
  }
  return set;
}

Result<ChatTemplateSet> ChatTemplateSet::from_source(std::string_view source) {
  ChatTemplateSet set;
  ZLLM_TRY(set.add(kDefault, source));
  return set;
}

std::vector<std::string_view> ChatTemplateSet::names() const {
  std::vector<std::string_view> names;
  names.reserve(templates_.size());
  for (const Compiled& compiled : templates_) {
    names.emplace_back(compiled.name);
  }
  return names;
}

Result<ChatTemplate> ChatTemplateSet::choose(bool tools_given) const {
  if (templates_.empty()) {
    return Error{Code::not_found, "the model has no chat template; its prompts must be raw"};
  }
  if (const ChatTemplate *tool_use = tools_given ? find(kToolUse) : nullptr) {
    return *tool_use;
  }
  if (const ChatTemplate *usual = find(kDefault)) {
    return *usual;
  }
  std::string known;
  for (const std::string_view name : names()) {
    known += concat(known.empty() ? "" : ", ", quote(name));
  }
  return Error{Code::not_found,
               concat("the model has chat templates of the names ", known, " and none is default")};
}

}  // namespace zllm::text
