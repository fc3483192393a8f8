#pragma once

#include <string_view>

#include <zllm/text/family/answer_parser.h>
#include <zllm/text/family/family.h>

namespace zllm::text::family {

// A family whose answers are text with markers.
class TextFamily final : public Family {
 public:
  using Matches = bool (*)(std::string_view chat_template);

  TextFamily(std::string_view name, AnswerSyntax syntax, Matches is_of_family)
      : name_(name), syntax_(syntax), matches_(is_of_family) {}

  std::string_view name() const override { return name_; }
  bool matches(std::string_view chat_template) const override { return matches_(chat_template); }
  std::unique_ptr<OutputParser> parser(const ParserOptions& options) const override;
  std::string_view reasoning_begin() const override { return syntax_.reasoning_begin; }
  std::string_view reasoning_end() const override { return syntax_.reasoning_end; }
  Result<std::string> grammar(const GrammarRequest& request,
                              const SpecialSpellings& special) const override;

 private:
  std::string_view name_;
  AnswerSyntax syntax_;
  Matches matches_;
};

// Whether all of these stand in the template.
template <class... Parts>
bool has_all(std::string_view chat_template, Parts... parts) {
  return ((chat_template.find(parts) != std::string_view::npos) && ...);
}
template <class... Parts>
bool has_any(std::string_view chat_template, Parts... parts) {
  return ((chat_template.find(parts) != std::string_view::npos) || ...);
}

}  // namespace zllm::text::family
