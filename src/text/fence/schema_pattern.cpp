#include <zllm/text/fence/schema_pattern.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include <zllm/base/text.h>
#include <zllm/text/fence/source_nesting.h>

namespace zllm::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether "{2}", "{2,}" or "{2,3}" is next, or "{,3}", which not all readers take for one.
bool is_repetition(std::string_view text) {
  std::size_t at = 1;
  const auto skip_digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) {
      ++at;
    }
    return at > begin;
  };
  if (!skip_digits() && !text.starts_with("{,")) {
    return false;
  }
  if (at < text.size() && text[at] == ',') {
    ++at;
    skip_digits();
  }
  return at < text.size() && text[at] == '}';
}

// The character that an escape names by its code, or by a letter of its own.
std::optional<unsigned> named_code(std::string_view escape) {
  if (escape.starts_with("\\v")) {
    return 0x0b;
  }
  if (escape.starts_with("\\a")) {
    return 0x07;
  }
  if (!escape.starts_with("\\x") && !escape.starts_with("\\u")) {
    return std::nullopt;
  }
  const bool is_braced = escape.substr(2).starts_with('{');
  const std::size_t length = escape[1] == 'x' ? 2 : 4;
  const std::string_view digits =
      is_braced ? escape.substr(3, escape.find('}') - 3) : escape.substr(2, length);
  unsigned code = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  return read.ec == std::errc() ? std::optional(code) : std::nullopt;
}

Error unwritable() {
  return Error{Code::invalid_argument,
               "the regular expression asks for a control character, which answers do not hold"};
}

class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> read() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\') {
        ZLLM_TRY(read_escape());
      } else if (is_in_set_) {
        read_in_set();
      } else {
        ZLLM_TRY(read_outside());
      }
    }
    return std::move(out_);
  }

 private:
  void copy(std::size_t bytes = 1) {
    out_ += pattern_.substr(at_, bytes);
    at_ += bytes;
  }
  void copy_escaped() {
    out_ += '\\';
    copy();
  }
  bool is_next(char c) const { return at_ + 1 < pattern_.size() && pattern_[at_ + 1] == c; }

  Status read_escape() {
    const std::string_view escape = pattern_.substr(at_);
    const std::optional<unsigned> code = named_code(escape);
    if (!is_in_set_ && code && *code < 0x80 && is_unwritable(static_cast<char>(*code))) {
      return unwritable();
    }
    // To the compiler these are borders of words.
    at_ += escape.starts_with("\\<") || escape.starts_with("\\>") ? 1U : 0U;
    copy(pattern_[at_] == '\\' ? 2U : 1U);
    constexpr std::string_view kBraced = "pPux";  // may have a name or a code in braces
    if (kBraced.find(escape[1]) != std::string_view::npos && escape.substr(2).starts_with('{')) {
      copy(std::min(escape.find('}'), escape.size() - 1) - 1);
    }
    return {};
  }

  void read_in_set() {
    const char c = pattern_[at_];
    const bool is_operator = (c == '&' || c == '~') && is_next(c);
    const bool is_second_dash = c == '-' && out_.ends_with('-');
    is_in_set_ = c != ']';
    c == '[' || is_operator || is_second_dash ? copy_escaped() : copy();
  }

  Status read_outside() {
    const char c = pattern_[at_];
    if (is_unwritable(c)) {
      return unwritable();
    }
    if (c == '[') {
      is_in_set_ = true;
      copy(is_next('^') ? 2U : 1U);
      copy(at_ < pattern_.size() && pattern_[at_] == ']' ? 1U : 0U);
    } else if (c == '{' && !is_repetition(pattern_.substr(at_))) {
      copy_escaped();
    } else {
      copy();
    }
    return {};
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool is_in_set_ = false;
  std::string out_;
};

}  // namespace

bool is_unwritable(char c) {
  constexpr std::string_view kShort = "\b\f\n\r\t";
  return (static_cast<unsigned char>(c) < 0x20 && kShort.find(c) == std::string_view::npos) ||
         c == '\x7f';
}

Result<std::string> grammar_pattern(std::string_view pattern) {
  ZLLM_TRY(check_whole_pattern(pattern));
  return PatternReader(pattern).read();
}

}  // namespace zllm::text
