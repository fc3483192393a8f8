#include <zllm/dialect/responses/packed_reasoning.h>

#include <cstdint>

namespace zllm::dialect::responses {
namespace {

constexpr std::string_view kMark = "zllm1.";  // the form of what follows: base64 (RFC 4648)
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr unsigned kByteBits = 8;
constexpr unsigned kDigitBits = 6;

// Moves bits from groups of one width to groups of another.
class BitQueue {
 public:
  void push(std::uint32_t value, unsigned width) {
    bits_ = (bits_ << width) | value;
    count_ += width;
  }
  bool has(unsigned width) const { return count_ >= width; }
  std::uint32_t pop(unsigned width) {
    count_ -= width;
    const std::uint32_t value = bits_ >> count_;
    bits_ &= (1U << count_) - 1;
    return value;
  }
  unsigned count() const { return count_; }

 private:
  std::uint32_t bits_ = 0;
  unsigned count_ = 0;
};

}  // namespace

std::string pack_reasoning(std::string_view text) {
  std::string packed(kMark);
  BitQueue bits;
  for (const char byte : text) {
    bits.push(static_cast<unsigned char>(byte), kByteBits);
    while (bits.has(kDigitBits)) {
      packed += kDigits[bits.pop(kDigitBits)];
    }
  }
  if (bits.count() > 0) {
    bits.push(0, kDigitBits - bits.count());
    packed += kDigits[bits.pop(kDigitBits)];
  }
  return packed;
}

std::optional<std::string> unpack_reasoning(std::string_view packed) {
  if (!packed.starts_with(kMark)) {
    return std::nullopt;
  }
  std::string text;
  BitQueue bits;
  for (const char digit : packed.substr(kMark.size())) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) {
      return std::nullopt;
    }
    bits.push(static_cast<std::uint32_t>(value), kDigitBits);
    if (bits.has(kByteBits)) {
      text += static_cast<char>(static_cast<unsigned char>(bits.pop(kByteBits)));
    }
  }
  return text;
}

}  // namespace zllm::dialect::responses
