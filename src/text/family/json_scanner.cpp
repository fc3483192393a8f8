#include <zllm/text/family/json_scanner.h>

#include <utility>

#include <zllm/base/json.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kReplacement = "\\ufffd";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

enum class Half { none, first, second };

// Of a whole "\uXXXX".
Half surrogate_half(std::string_view escape) {
  if (escape[2] != 'd' && escape[2] != 'D') {
    return Half::none;
  }
  const char c = escape[3];
  if (c == '8' || c == '9' || c == 'a' || c == 'A' || c == 'b' || c == 'B') {
    return Half::first;
  }
  return c < '8' ? Half::none : Half::second;
}

}  // namespace

JsonScanner::Status JsonScanner::add(char c, std::string& out) {
  switch (expects_) {
    case Expects::string:
      return in_string(c, out);
    case Expects::escape:
    case Expects::escape_digits:
      return in_escape(c, out);
    case Expects::literal:
    case Expects::python_literal:
      if (c != literal_.front()) {
        return Status::broken;
      }
      if (expects_ == Expects::literal) {
        out += c;
      }
      literal_.remove_prefix(1);
      return literal_.empty() ? end_value() : Status::open;
    case Expects::minus_digits:
    case Expects::zero:
    case Expects::digits:
    case Expects::fraction_first:
    case Expects::fraction:
    case Expects::exponent_first:
    case Expects::exponent_sign:
    case Expects::exponent:
      return in_number(c, out);
    default:
      return in_structure(c, out);
  }
}

JsonScanner::Status JsonScanner::in_structure(char c, std::string& out) {
  if (is_json_space(c)) {
    (comma_.empty() ? out : comma_) += c;
    return Status::open;
  }
  if (!comma_.empty() && c == (nesting_.back() == '{' ? '}' : ']')) {
    comma_.clear();
    return close(c, out);
  }
  switch (expects_) {
    case Expects::value:
      return begin_value(c, out);
    case Expects::value_or_end:
      return c == ']' ? close(c, out) : begin_value(c, out);
    case Expects::key_or_end:
      if (c == '}') {
        return close(c, out);
      }
      [[fallthrough]];
    case Expects::key:
      is_key_ = true;
      expects_ = Expects::string;
      break;
    case Expects::colon:
      expects_ = Expects::value;
      if (c != ':') {
        return Status::broken;
      }
      out += c;
      return Status::open;
    default:
      if (c == '}' || c == ']') {
        return close(c, out);
      }
      if (c != ',') {
        return Status::broken;
      }
      comma_ = c;
      expects_ = nesting_.back() == '{' ? Expects::key : Expects::value;
      return Status::open;
  }
  if (c != '"') {
    return Status::broken;
  }
  out += std::exchange(comma_, {});
  out += c;
  return Status::open;
}

JsonScanner::Status JsonScanner::begin_value(char c, std::string& out) {
  constexpr std::string_view kTrue = "true";
  constexpr std::string_view kFalse = "false";
  constexpr std::string_view kNull = "null";
  constexpr std::string_view kNone = "none";
  const bool ends_itself = c == '{' || c == '[' || c == '"';
  if (nesting_.empty() && !ends_itself) {
    return Status::broken;
  }
  if (c == '{' || c == '[') {
    if (nesting_.size() >= kJsonDepthLimit - 1) {
      return Status::broken;
    }
    nesting_ += c;
    expects_ = c == '{' ? Expects::key_or_end : Expects::value_or_end;
  } else if (c == '"') {
    is_key_ = false;
    expects_ = Expects::string;
  } else if (c == '-') {
    expects_ = Expects::minus_digits;
  } else if (is_digit(c)) {
    expects_ = c == '0' ? Expects::zero : Expects::digits;
  } else if (c == 't' || c == 'f' || c == 'n') {
    literal_ = (c == 't' ? kTrue : c == 'f' ? kFalse : kNull).substr(1);
    expects_ = Expects::literal;
  } else if (c == 'T' || c == 'F' || c == 'N') {
    out += std::exchange(comma_, {});
    out += c == 'T' ? kTrue : c == 'F' ? kFalse : kNull;
    literal_ = (c == 'T' ? kTrue : c == 'F' ? kFalse : kNone).substr(1);
    expects_ = Expects::python_literal;
    return Status::open;
  } else {
    return Status::broken;
  }
  out += std::exchange(comma_, {});
  out += c;
  return Status::open;
}

JsonScanner::Status JsonScanner::end_value() {
  expects_ = Expects::comma_or_end;
  return nesting_.empty() ? Status::complete : Status::open;
}

JsonScanner::Status JsonScanner::close(char c, std::string& out) {
  if (nesting_.back() != (c == '}' ? '{' : '[')) {
    return Status::broken;
  }
  nesting_.pop_back();
  out += c;
  return end_value();
}

JsonScanner::Status JsonScanner::in_string(char c, std::string& out) {
  if (c == '\\') {
    escape_ = c;
    expects_ = Expects::escape;
    return Status::open;
  }
  flush_surrogate(out);
  if (c == '"') {
    out += c;
    if (!is_key_) {
      return end_value();
    }
    expects_ = Expects::colon;
    return Status::open;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20) {
    std::string quoted;
    append_json_string(quoted, std::string_view(&c, 1));
    out += std::string_view(quoted).substr(1, quoted.size() - 2);
  } else {
    out += c;
  }
  return Status::open;
}

JsonScanner::Status JsonScanner::in_escape(char c, std::string& out) {
  constexpr std::string_view kSimple = "\"\\/bfnrt";
  if (expects_ == Expects::escape) {
    if (c == 'u') {
      escape_ += c;
      expects_ = Expects::escape_digits;
      return Status::open;
    }
    flush_surrogate(out);
    expects_ = Expects::string;
    if (kSimple.find(c) != std::string_view::npos) {
      out += '\\';
      out += c;
      return Status::open;
    }
    out += "\\\\";
    return in_string(c, out);
  }
  if (!is_hex_digit(c)) {
    flush_surrogate(out);
    out += '\\';
    out += escape_;
    expects_ = Expects::string;
    return in_string(c, out);
  }
  escape_ += c;
  if (escape_.size() == 6) {
    expects_ = Expects::string;
    end_unicode_escape(out);
  }
  return Status::open;
}

void JsonScanner::end_unicode_escape(std::string& out) {
  const Half half = surrogate_half(escape_);
  if (half == Half::second) {
    if (surrogate_.empty()) {
      out += kReplacement;
    } else {
      out += surrogate_;
      out += escape_;
      surrogate_.clear();
    }
    return;
  }
  flush_surrogate(out);
  if (half == Half::first) {
    surrogate_ = escape_;
  } else {
    out += escape_;
  }
}

void JsonScanner::flush_surrogate(std::string& out) {
  if (!surrogate_.empty()) {
    out += kReplacement;
    surrogate_.clear();
  }
}

JsonScanner::Status JsonScanner::in_number(char c, std::string& out) {
  const bool digit = is_digit(c);
  bool ends = false;
  switch (expects_) {
    case Expects::minus_digits:
      expects_ = c == '0' ? Expects::zero : Expects::digits;
      break;
    case Expects::fraction_first:
      expects_ = Expects::fraction;
      break;
    case Expects::exponent_first:
      expects_ = digit ? Expects::exponent : Expects::exponent_sign;
      if (c == '+' || c == '-') {
        out += c;
        return Status::open;
      }
      break;
    case Expects::exponent_sign:
      expects_ = Expects::exponent;
      break;
    case Expects::zero:
    case Expects::digits:
      ends = expects_ == Expects::zero || !digit;
      if (c == '.') {
        expects_ = Expects::fraction_first;
        out += c;
        return Status::open;
      }
      [[fallthrough]];
    case Expects::fraction:
      ends = ends || !digit;
      if (c == 'e' || c == 'E') {
        expects_ = Expects::exponent_first;
        out += c;
        return Status::open;
      }
      break;
    default:
      ends = !digit;
  }
  if (ends) {
    expects_ = Expects::comma_or_end;
    return in_structure(c, out);
  }
  if (!digit) {
    return Status::broken;
  }
  out += c;
  return Status::open;
}

}  // namespace zllm::text::family
