#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/text/chat_template.h>

namespace zllm::text {

// Source of a template and the name it is chosen by; "default" is the usual one.
struct NamedTemplate {
  std::string name;
  std::string source;
};

// The chat templates of a model, by the rules of transformers.
class ChatTemplateSet {
 public:
  // Hub layout. `tokenizer_config` is the text of tokenizer_config.json, whose "chat_template" is a
  // string or an array of {"name", "template"}; `template_file` is the text of chat_template.jinja,
  // and `additional` are the files of additional_chat_templates without their ending. Where there
  // is any file, the templates of tokenizer_config.json do not count.
  static Result<ChatTemplateSet> from_folder(const Json& tokenizer_config,
                                             std::optional<std::string_view> template_file,
                                             std::span<const NamedTemplate> additional = {});
  // From the entries of a GGUF file: the key tokenizer.chat_template, and keys
  // tokenizer.chat_template.NAME; others are passed over.
  static Result<ChatTemplateSet> from_gguf(
      std::span<const std::pair<std::string_view, std::string_view>> entries);
  // One template, such as a user's file.
  static Result<ChatTemplateSet> from_source(std::string_view source);

  bool empty() const { return templates_.empty(); }
  std::vector<std::string_view> names() const;
  // The template named "tool_use" when tools are given and there is one, else "default".
  // not_found: the model has no template, or several and none of these names.
  Result<ChatTemplate> choose(bool tools_given) const;

 private:
  struct Compiled {
    std::string name;
    ChatTemplate compiled;
  };
  Status add(std::string_view name, std::string_view source);
  const ChatTemplate *find(std::string_view name) const;

  std::vector<Compiled> templates_;
};

}  // namespace zllm::text
