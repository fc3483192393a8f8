#include <zllm/dialect/completions/token_scores.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>

namespace zllm::dialect::completions {
namespace {

std::string spelling(const std::string& bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (is_valid_utf8(bytes)) {
    return bytes;
  }
  std::string out = "bytes:";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += "\\x";
    out += kHex[value >> 4];
    out += kHex[value & 15];
  }
  return out;
}

// Every character has one byte that does not continue another's.
std::uint64_t count_characters(std::string_view bytes) {
  constexpr unsigned kContinuationMask = 0xc0;
  constexpr unsigned kContinuation = 0x80;
  return static_cast<std::uint64_t>(std::ranges::count_if(bytes, [](char byte) {
    return (static_cast<unsigned char>(byte) & kContinuationMask) != kContinuation;
  }));
}

// The likeliest tokens and the chosen one, by spelling; the likelier of two that are spelled alike.
std::string top_object(const ScoredToken& scored) {
  std::vector<std::string> seen;
  JsonWriter json;
  json.begin_object();
  const auto write = [&](const ScoredToken& token) {
    std::string key = spelling(token.bytes);
    if (std::ranges::find(seen, key) == seen.end()) {
      json.key(key).log_probability(token.log_probability);
      seen.push_back(std::move(key));
    }
  };
  for (const ScoredToken& token : scored.top) {
    write(token);
  }
  write(scored);
  json.end_object();
  return std::move(json).str();
}

void write_array(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.begin_array(name);
  for (const std::string& text : texts) {
    json.raw(text);
  }
  json.end_array();
}

}  // namespace

void TokenScores::add(const ScoredToken& scored, std::uint64_t& offset) {
  tokens_.push_back(JsonWriter().text(spelling(scored.bytes)).str());
  log_probabilities_.push_back(JsonWriter().log_probability(scored.log_probability).str());
  // NaN: the first token of a prompt, which nothing predicts.
  top_.push_back(std::isnan(scored.log_probability) ? "null" : top_object(scored));
  offsets_.push_back(to_text(offset));
  offset += count_characters(scored.bytes);
}

void TokenScores::write(JsonWriter& json) const {
  json.begin_object("logprobs");
  write_array(json, "tokens", tokens_);
  write_array(json, "token_logprobs", log_probabilities_);
  write_array(json, "top_logprobs", top_);
  write_array(json, "text_offset", offsets_);
  json.end_object();
}

}  // namespace zllm::dialect::completions
