#include <zllm/text/family/call_grammar.h>
#include <zllm/text/family/families.h>
#include <zllm/text/family/harmony_parser.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

class Harmony final : public Family {
 public:
  std::string_view name() const override { return "harmony"; }
  bool matches(std::string_view chat_template) const override {
    return has_all(chat_template, "<|channel|>", "<|message|>", "<|start|>");
  }
  std::unique_ptr<OutputParser> parser(const ParserOptions& options) const override {
    return std::make_unique<HarmonyParser>(options);
  }
  std::string_view reasoning_begin() const override { return "<|channel|>analysis<|message|>"; }
  std::string_view reasoning_end() const override { return "<|end|>"; }
  Result<std::string> grammar(const GrammarRequest& request,
                              const SpecialSpellings& special) const override {
    return call_grammar(name(), request, special);
  }
};

}  // namespace

// gpt-oss.
const Family& harmony() {
  static const Harmony family;
  return family;
}

}  // namespace zllm::text::family
