#include <zllm/text/detokenizer.h>

#include <string_view>

#include <zllm/base/utf8.h>
#include <zllm/text/utf8_repair.h>

namespace zllm::text {

Detokenizer::Detokenizer(Tokenizer tokenizer, Start start, DecodeOptions options)
    : tokenizer_(std::move(tokenizer)),
      start_(start),
      options_(options),
      leading_(leading_at_start()) {}

std::size_t Detokenizer::leading_at_start() const {
  return start_ == Start::text ? tokenizer_.leading_spaces() : 0;
}

std::string Detokenizer::add(TokenId id) {
  if (options_.skip_special && tokenizer_.is_special(id)) {
    return {};
  }
  std::string_view bytes = tokenizer_.token_bytes(id);
  while (leading_ > 0 && !bytes.empty()) {
    if (bytes.front() != ' ') {
      leading_ = 0;
      break;
    }
    bytes.remove_prefix(1);
    --leading_;
  }
  pending_ += bytes;
  const std::size_t incomplete = utf8_incomplete_suffix(pending_);
  const std::size_t complete = pending_.size() - incomplete;
  std::string piece;
  append_repaired(piece, std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  return piece;
}

std::string Detokenizer::flush() {
  std::string piece;
  append_repaired(piece, pending_);
  pending_.clear();
  leading_ = leading_at_start();
  return piece;
}

}  // namespace zllm::text
