#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// What the IQ formats share: codebooks of small vectors and packed signs.
namespace zllm::encoding {

// A codebook entry as a vector of bytes, the first element in the lowest byte: eight of them in
// 64 bits or four in 32. packed holds a code of kCodeBits bits per element, which values maps.
template <class Entry, unsigned kCodeBits, std::size_t kEntries, std::size_t kValues>
consteval std::array<Entry, kEntries> unpack_codebook(const std::uint16_t (&packed)[kEntries],
                                                      const std::int8_t (&values)[kValues]) {
  std::array<Entry, kEntries> book{};
  for (std::size_t entry = 0; entry < kEntries; ++entry) {
    for (unsigned element = 0; element < sizeof(Entry); ++element) {
      const unsigned code = (packed[entry] >> (element * kCodeBits)) & ((1u << kCodeBits) - 1);
      const Entry value = static_cast<std::uint8_t>(values[code]);
      book[entry] |= value << (8 * element);
    }
  }
  return book;
}

template <class Entry>
[[gnu::always_inline]] constexpr float codebook_element(Entry entry, unsigned element) {
  return static_cast<float>(static_cast<std::int8_t>(entry >> (8 * element) & 0xff));
}

// The signs of eight elements, bit j set where element j is negated, from their seven-bit index:
// the number of minus signs is even.
[[gnu::always_inline]] constexpr std::uint8_t signs_of_index(unsigned index) {
  const unsigned low = index & 127u;
  return static_cast<std::uint8_t>(low | (static_cast<unsigned>(std::popcount(low)) & 1u) << 7);
}

[[gnu::always_inline]] constexpr float with_sign(float value, std::uint8_t signs,
                                                 unsigned element) {
  return (signs >> element & 1) != 0 ? -value : value;
}

}  // namespace zllm::encoding
