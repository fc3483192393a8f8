#include <zllm/text/fence/lark_words.h>

#include <algorithm>

#include <zllm/base/text.h>

namespace zllm::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Splitter {
 public:
  explicit Splitter(std::string_view grammar) : rest_(grammar) {}

  Result<std::vector<LarkWord>> split() {
    while (!rest_.empty()) {
      const std::size_t size = length();
      if (size == 0) {
        return Error{Code::invalid_argument,
                     concat("the Lark grammar has ", quote(rest_.substr(0, 1)), " in line ", line_,
                            ", which does not belong there")};
      }
      const std::string_view text = rest_.substr(0, size);
      if (!is_blank_) {
        words_.push_back({.kind = kind_, .text = text, .line = line_});
      }
      line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
      rest_.remove_prefix(size);
    }
    words_.push_back({.kind = LarkKind::line_end, .text = "", .line = line_});
    return std::move(words_);
  }

 private:
  // Of the next word; 0: there is none.
  std::size_t length() {
    const char first = rest_.front();
    is_blank_ =
        first == ' ' || first == '\t' || first == '\r' || first == '#' || rest_.starts_with("//");
    if (is_blank_) {
      const bool is_comment = first == '#' || first == '/';
      return is_comment ? std::min(rest_.find('\n'), rest_.size()) : 1;
    }
    if (first == '\n') {
      return found(LarkKind::line_end, 1);
    }
    if (is_letter(first)) {
      return found(LarkKind::name, while_name(0));
    }
    if (is_digit(first)) {
      const auto end = std::ranges::find_if_not(rest_, is_digit);
      return found(LarkKind::number, static_cast<std::size_t>(end - rest_.begin()));
    }
    if (first == '%') {
      return found(LarkKind::directive, while_name(1));
    }
    if (first == '"') {
      return found(LarkKind::text, quoted('"', "i"));
    }
    if (first == '/') {
      return found(LarkKind::regex, quoted('/', "imslux"));
    }
    for (const std::string_view sign :
         {"->", "..", ":", "|", "(", ")", "[", "]", "{", "}", "?", "*", "+", "~", ".", ",", "!"}) {
      if (rest_.starts_with(sign)) {
        return found(LarkKind::sign, sign.size());
      }
    }
    return 0;
  }
  std::size_t found(LarkKind kind, std::size_t size) {
    kind_ = kind;
    return size;
  }
  std::size_t while_name(std::size_t at) const {
    while (at < rest_.size() && (is_letter(rest_[at]) || is_digit(rest_[at]))) {
      ++at;
    }
    return at;
  }
  // With the flags behind; 0: it does not end.
  std::size_t quoted(char mark, std::string_view flags) const {
    std::size_t at = 1;
    while (at < rest_.size() && rest_[at] != mark) {
      at += rest_[at] == '\\' ? 2U : 1U;
    }
    if (at >= rest_.size()) {
      return 0;
    }
    ++at;
    while (at < rest_.size() && flags.find(rest_[at]) != std::string_view::npos) {
      ++at;
    }
    return at;
  }

  std::string_view rest_;
  std::size_t line_ = 1;
  LarkKind kind_ = LarkKind::sign;
  bool is_blank_ = false;
  std::vector<LarkWord> words_;
};

std::vector<LarkWord> without_breaks(const std::vector<LarkWord>& words) {
  std::vector<LarkWord> out;
  std::size_t depth = 0;
  for (const LarkWord& word : words) {
    if (word.kind == LarkKind::line_end) {
      if (depth == 0 && !out.empty()) {
        out.push_back(word);
      }
      continue;
    }
    const bool is_sign = word.kind == LarkKind::sign;
    while (is_sign && word.text == "|" && !out.empty() && out.back().kind == LarkKind::line_end) {
      out.pop_back();
    }
    depth += is_sign && (word.text == "(" || word.text == "[") ? 1U : 0U;
    depth -= is_sign && depth > 0 && (word.text == ")" || word.text == "]") ? 1U : 0U;
    out.push_back(word);
  }
  out.push_back(words.back());
  return out;
}

}  // namespace

Result<std::vector<LarkWord>> lark_words(std::string_view grammar) {
  ZLLM_TRY(const std::vector<LarkWord> words, Splitter(grammar).split());
  return without_breaks(words);
}

}  // namespace zllm::text
