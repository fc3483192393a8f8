#include "conversation.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::cli {
namespace {

// Private-use characters, which no template knows; one that no message holds serves as a mark.
constexpr std::uint32_t kFirstMark = 0xe000;
constexpr std::uint32_t kLastMark = 0xf8fe;

std::string three_bytes(std::uint32_t character) {
  return {static_cast<char>(0xe0 | (character >> 12)),
          static_cast<char>(0x80 | ((character >> 6) & 0x3f)),
          static_cast<char>(0x80 | (character & 0x3f))};
}

Result<std::string> free_mark(const std::vector<Message>& messages) {
  for (std::uint32_t character = kFirstMark; character <= kLastMark; ++character) {
    std::string mark = three_bytes(character);
    if (std::ranges::none_of(messages, [&](const Message& message) {
          return message.content.find(mark) != std::string::npos;
        })) {
      return mark;
    }
  }
  return Error{Code::invalid_argument, "the messages hold every private-use character"};
}

std::vector<std::string_view> control_spellings(const text::Tokenizer& tokenizer) {
  std::vector<std::string_view> spellings;
  for (std::size_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const auto token = static_cast<TokenId>(id);
    if (tokenizer.is_special(token) && !tokenizer.token_bytes(token).empty()) {
      spellings.push_back(tokenizer.token_bytes(token));
    }
  }
  std::ranges::sort(spellings, std::ranges::greater(), &std::string_view::size);
  return spellings;
}

// Puts a mark into the middle of everything that spells a control token, so that rendering keeps
// it and tokenizing does not see it.
class Guard {
 public:
  Guard(const text::Tokenizer& tokenizer, std::string mark)
      : spellings_(control_spellings(tokenizer)), mark_(std::move(mark)) {}

  std::string protect(std::string_view content) const {
    std::string out;
    while (!content.empty()) {
      const auto found = std::ranges::find_if(
          spellings_, [&](std::string_view spelling) { return content.starts_with(spelling); });
      if (found == spellings_.end()) {
        out += content[0];
        content.remove_prefix(1);
        continue;
      }
      out += mark_ + std::string(*found) + mark_;
      content.remove_prefix(found->size());
    }
    return out;
  }

  Result<std::vector<TokenId>> encode(const text::Tokenizer& tokenizer,
                                      std::string_view rendered) const {
    std::vector<TokenId> ids;
    bool is_guarded = false;
    for (bool is_first = true;; is_first = false) {
      const std::size_t end = std::min(rendered.find(mark_), rendered.size());
      const std::string_view part = rendered.substr(0, end);
      ZLLM_TRY(const std::vector<TokenId> some,
               tokenizer.encode(part, {.parse_special = !is_guarded, .add_begin = is_first}));
      ids.insert(ids.end(), some.begin(), some.end());
      if (end == rendered.size()) {
        return ids;
      }
      rendered.remove_prefix(end + mark_.size());
      is_guarded = !is_guarded;
    }
  }

 private:
  std::vector<std::string_view> spellings_;
  std::string mark_;
};

}  // namespace

Result<std::vector<TokenId>> encode_conversation(const ModelText& text,
                                                 const std::vector<Message>& messages) {
  ZLLM_TRY(std::string mark, free_mark(messages));
  const Guard guard(text.tokenizer, std::move(mark));
  Json::Array list;
  for (const Message& message : messages) {
    list.push_back(Json(Json::Object{{"role", Json(message.role)},
                                     {"content", Json(guard.protect(message.content))}}));
  }
  const Json request(Json::Object{{"messages", Json(std::move(list))}});
  ZLLM_TRY(const std::string rendered, render_request(text, request.dump()));
  return guard.encode(text.tokenizer, rendered);
}

}  // namespace zllm::cli
