#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/embedded/event.h>

namespace zllm {

// Finds the tokens that a piece of content is made of, while the text of an answer is taken apart:
// markers and white space around them are of no content, though their tokens come before it.
class ScoredText {
 public:
  // is_reasoning_open: the text may turn out to have been content only at its end.
  explicit ScoredText(bool is_reasoning_open) : keeps_(is_reasoning_open) {}

  // The next token, before the text that it adds.
  void begin(ScoredToken token);
  // Text as it is taken apart. is_special: the spelling of one control token.
  void append(std::string_view text, bool is_special);
  // Content came, told or held back.
  void enter_content() { is_passed_ = false; }
  // Something other than content came: what was appended before the last token is none.
  void leave_content();
  // The end of reasoning that was open: content is from here on.
  void end_reasoning() { keeps_ = false; }
  // The end of the last token's text.
  void end();
  bool ends_with(std::string_view text) const { return text_.ends_with(text); }

  // Tokens up to the end of this content, those that it is made of marked; each is told once.
  std::vector<ScoredToken> take_content(std::string_view content);
  // Tokens that were not told. Before end() the last one stays: content may come of it too.
  std::vector<ScoredToken> take_passed();

 private:
  struct Pending {
    ScoredToken token;
    std::size_t begin = 0;  // in text_
    std::size_t end = 0;
    bool is_special = false;
    bool is_told = false;
  };

  std::vector<ScoredToken> take(std::size_t end, std::size_t content);
  // Where the content begins in text_; npos: nowhere.
  std::size_t find(std::string_view content) const;
  // A control token that begins there, else null.
  const Pending *special_at(std::size_t place) const;
  void trim();

  std::vector<Pending> pending_;
  std::string text_;
  // In text_: before the first nothing is content, before the second what may be the rest of a
  // marker, if content does not begin there.
  std::size_t begin_ = 0;
  std::size_t floor_ = 0;
  std::size_t told_ = 0;    // tokens at the front of which all are told
  bool is_open_ = false;    // the last token's text may go on
  bool is_passed_ = false;  // content was left last
  bool keeps_;              // what was told, in case it is taken again
};

}  // namespace zllm
