#include <zllm/text/guarded_prompt.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/text/json_strings.h>

namespace zllm::text {
namespace {

// Noncharacters, which no text for interchange has: U+FDD0 to U+FDEF.
std::optional<std::string> absent_mark(std::string_view request) {
  std::string lower(request);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (unsigned i = 0; i < 32; ++i) {
    std::string mark = "\xef\xb7";
    mark += static_cast<char>(0x90U + i);
    const std::string escape = concat("\\ufd", i < 16 ? "d" : "e", kDigits.substr(i % 16, 1));
    if (request.find(mark) == std::string_view::npos && lower.find(escape) == std::string::npos) {
      return mark;
    }
  }
  return std::nullopt;
}

bool is_guarded(std::string_view member) {
  return member == "messages" || member == "tools" || member == "documents";
}

}  // namespace

PromptGuard::PromptGuard(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {
  std::vector<std::string> specials = tokenizer_.special_spellings();
  std::sort(specials.begin(), specials.end());
  for (const std::string& spelling : specials) {
    longest_ = std::max(longest_, spelling.size());
  }
  specials_ = std::make_shared<const std::vector<std::string>>(std::move(specials));
}

std::size_t PromptGuard::special_length(std::string_view text) const {
  std::size_t longest = 0;
  // Spellings that text begins with sort at or before it, each behind those that it begins with.
  auto first = specials_->begin();
  auto last = specials_->end();
  for (std::size_t length = 1; length <= text.size() && first != last; ++length) {
    const char c = text[length - 1];
    const auto less = [&](const std::string& spelling, char byte) {
      return spelling.size() < length ||
             static_cast<unsigned char>(spelling[length - 1]) < static_cast<unsigned char>(byte);
    };
    first = std::lower_bound(first, last, c, less);
    last = std::find_if(first, last, [&](const std::string& spelling) {
      return spelling.size() < length || spelling[length - 1] != c;
    });
    if (first != last && first->size() == length) {
      longest = length;
    }
  }
  return longest;
}

// Whether text ends with the beginning of a control token, which text after it could complete.
bool PromptGuard::ends_in_part(std::string_view text) const {
  for (std::size_t length = 1; length <= std::min(text.size(), longest_); ++length) {
    const std::string_view part = text.substr(text.size() - length);
    if (part.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      continue;
    }
    // The first spelling behind the part itself begins with it if any does.
    const auto longer = std::upper_bound(specials_->begin(), specials_->end(), part);
    if (longer != specials_->end() && longer->starts_with(part)) {
      return true;
    }
  }
  return false;
}

std::string PromptGuard::broken(std::string_view text) const {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = special_length(text.substr(at));
    const std::size_t first = std::max<std::size_t>(utf8_sequence_length(text.substr(at)), 1);
    out += text.substr(at, first);
    if (length > first) {
      out += mark_;
    }
    at += first;
  }
  if (ends_in_part(text)) {
    out += mark_;
  }
  return out;
}

Result<std::string> PromptGuard::guard(std::string_view request) {
  mark_.clear();
  const std::optional<std::string> mark = absent_mark(request);
  if (!mark) {
    return Error{Code::invalid_argument, "the request has every character that could guard it"};
  }
  mark_ = *mark;
  ZLLM_TRY(std::string guarded, map_json_strings(request, is_guarded, [&](std::string_view text) {
             return broken(text);
           }));
  if (guarded == request) {
    mark_.clear();
  }
  return guarded;
}

Result<std::vector<TokenId>> PromptGuard::encode(std::string_view rendered) const {
  return tokenizer_.encode(rendered, {.parse_special = true, .add_begin = true, .mark = mark_});
}

std::string PromptGuard::plain(std::string_view rendered) const {
  std::string out;
  for (std::size_t at = 0; at < rendered.size();) {
    const std::size_t end =
        mark_.empty() ? rendered.size() : std::min(rendered.find(mark_, at), rendered.size());
    out += rendered.substr(at, end - at);
    at = end + mark_.size();
  }
  return out;
}

}  // namespace zllm::text
