#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <zllm/encoding/every_format.h>

// Bit for bit against the package gguf: tools/oracle/encoding_vectors.py says what the files hold.
namespace zllm::encoding {
namespace {

struct Header {
  std::uint64_t blocks = 0;
  std::uint64_t random_blocks = 0;
  std::uint64_t seed = 0;
  std::uint64_t checksum = 0;
};

struct Vectors {
  Header header;
  std::vector<std::byte> blocks;
  std::vector<float> elements;
};

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// Every NaN is the same NaN.
std::uint32_t bits_of(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value);
}

Vectors read_vectors(const EncodingInfo& format) {
  std::ifstream file("test/fixtures/encoding/" + std::string(format.name) + ".bin",
                     std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  Vectors vectors;
  if (bytes.size() < sizeof(Header)) {
    return vectors;
  }
  std::memcpy(&vectors.header, bytes.data(), sizeof(Header));
  vectors.blocks.resize(vectors.header.blocks * format.block_bytes);
  vectors.elements.resize(vectors.header.blocks * format.block_elements);
  const std::size_t element_bytes = vectors.elements.size() * sizeof(float);
  if (bytes.size() != sizeof(Header) + vectors.blocks.size() + element_bytes) {
    return Vectors{};
  }
  const char *payload = bytes.data() + sizeof(Header);
  std::memcpy(vectors.blocks.data(), payload, vectors.blocks.size());
  std::memcpy(vectors.elements.data(), payload + vectors.blocks.size(), element_bytes);
  return vectors;
}

// The SplitMix64 sequence as bytes.
std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t begin = 0; begin < count; begin += sizeof(std::uint64_t)) {
    seed += kGolden;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    std::memcpy(bytes.data() + begin, &z, std::min(sizeof(z), count - begin));
  }
  return bytes;
}

template <class Format>
class DecodeTest : public testing::Test {
 protected:
  const EncodingInfo& format_ = info(Format::kEncoding);
  const Vectors vectors_ = read_vectors(format_);
};

template <class Tuple>
struct AsTestTypes;
template <class... Formats>
struct AsTestTypes<std::tuple<Formats...>> {
  using Types = testing::Types<Formats...>;
};

struct FormatName {
  template <class Format>
  static std::string GetName(int) {
    return std::string(info(Format::kEncoding).name);
  }
};

TYPED_TEST_SUITE(DecodeTest, AsTestTypes<EveryFormat>::Types, FormatName);

TYPED_TEST(DecodeTest, GivesTheBitsOfTheVectors) {
  const Vectors& expected = this->vectors_;
  ASSERT_GT(expected.header.blocks, 0u);
  std::vector<float> elements(expected.elements.size());
  decode(TypeParam::kEncoding, expected.blocks, elements);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    ASSERT_EQ(bits_of(elements[i]), bits_of(expected.elements[i]))
        << "element " << i % TypeParam::kBlockElements << " of block "
        << i / TypeParam::kBlockElements << ": " << elements[i] << ", expected "
        << expected.elements[i];
  }
}

TYPED_TEST(DecodeTest, GivesTheBitsOfManyRandomBlocks) {
  const Header& header = this->vectors_.header;
  ASSERT_GT(header.random_blocks, 0u);
  const std::vector<std::byte> blocks =
      random_bytes(header.seed, header.random_blocks * this->format_.block_bytes);
  std::vector<float> elements(header.random_blocks * this->format_.block_elements);
  decode(TypeParam::kEncoding, blocks, elements);
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    checksum += bits_of(elements[i]) * ((2 * i + 1) * kGolden);
  }
  EXPECT_EQ(checksum, header.checksum);
}

TYPED_TEST(DecodeTest, BlocksMayLieAtAnyAddress) {
  const Vectors& expected = this->vectors_;
  std::vector<std::byte> shifted(expected.blocks.size() + 1);
  std::memcpy(shifted.data() + 1, expected.blocks.data(), expected.blocks.size());
  std::vector<float> elements(expected.elements.size());
  decode(TypeParam::kEncoding, std::span(shifted).subspan(1), elements);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    ASSERT_EQ(bits_of(elements[i]), bits_of(expected.elements[i])) << i;
  }
}

}  // namespace
}  // namespace zllm::encoding
