#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zllm::text::family {

// Finds the end of one JSON object, array or string that comes byte by byte, and refuses what can
// not become valid any more. What models often get wrong is mended on the way: in strings raw
// control characters, escapes that do not exist and lone surrogates; a comma behind the last
// member; Python's True, False and None.
class JsonScanner {
 public:
  enum class Status : std::uint8_t { open, complete, broken };

  // Takes the next byte and appends to `out` what stands for it in valid JSON, at once or, for an
  // escape, when it is known. A broken or complete value takes no more; the breaking byte is not
  // written.
  Status add(char c, std::string& out);

 private:
  enum class Expects : std::uint8_t {
    value,
    value_or_end,
    key_or_end,
    key,
    colon,
    comma_or_end,
    string,
    escape,
    escape_digits,
    literal,
    python_literal,  // whose JSON is written already
    minus_digits,
    zero,
    digits,
    fraction_first,
    fraction,
    exponent_first,
    exponent_sign,
    exponent,
  };

  Status in_structure(char c, std::string& out);
  Status in_string(char c, std::string& out);
  Status in_escape(char c, std::string& out);
  Status in_number(char c, std::string& out);
  Status begin_value(char c, std::string& out);
  Status end_value();
  Status close(char c, std::string& out);
  void end_unicode_escape(std::string& out);
  void flush_surrogate(std::string& out);

  Expects expects_ = Expects::value;
  std::string nesting_;       // of '{' and '['
  bool is_key_ = false;       // the string that is open
  std::string_view literal_;  // what must still come of true, false or null
  std::string comma_;         // one that waits for what follows it, with the space behind
  std::string escape_;        // "\u" and its digits so far
  std::string surrogate_;     // a first half that waits for its second
};

}  // namespace zllm::text::family
