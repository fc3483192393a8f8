#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/text/tokenizer.h>

namespace zllm::text {

// Keeps text of users from becoming control tokens when it passes through a chat template: control
// tokens that it spells out are broken by a mark that no text contains, and the mark falls away
// when the rendered prompt is encoded.
class PromptGuard {
 public:
  explicit PromptGuard(Tokenizer tokenizer);

  // `request` as JSON text for a template, every string in "messages", "tools" and "documents"
  // guarded. Unchanged, byte for byte, where nothing spells a control token.
  Result<std::string> guard(std::string_view request);
  // Ids of a prompt rendered from a guarded request: the template's own control tokens are parsed,
  // those of users are plain text; it begins exactly once.
  Result<std::vector<TokenId>> encode(std::string_view rendered) const;
  // The prompt as a person reads it, without marks.
  std::string plain(std::string_view rendered) const;

 private:
  std::string broken(std::string_view text) const;
  // Bytes of the longest control token that text begins with; 0 = none.
  std::size_t special_length(std::string_view text) const;
  bool ends_in_part(std::string_view text) const;

  Tokenizer tokenizer_;
  std::shared_ptr<const std::vector<std::string>> specials_;  // sorted
  std::size_t longest_ = 0;                                   // of their bytes
  std::string mark_;                                          // empty: nothing was guarded
};

}  // namespace zllm::text
