#include <zllm/weight/container/gguf.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <zllm/weight/container/gguf_reader.h>
#include <zllm/weight/container/gguf_value.h>

#include "testing/gguf_builder.h"

namespace zllm::weight {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using testing::gguf_string;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::raw;
using testing::sample_gguf;
using testing::TensorRecord;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::string error_of(const std::string& file) {
  const auto contents = parse_gguf(as_bytes(file));
  return contents.ok() ? "no error" : contents.error().message;
}
std::string error_of(const GgufBuilder& file) { return error_of(file.build()); }

// A copy of its own, so that a sanitizer sees every read beyond the end; touches all that a
// successful parse points to.
void parse_and_touch(std::string_view file) {
  const std::vector<std::byte> exact(as_bytes(file).begin(), as_bytes(file).end());
  const auto contents = parse_gguf(exact);
  if (!contents.ok()) {
    EXPECT_FALSE(contents.error().message.empty());
    return;
  }
  unsigned sum = 0;
  for (const GgufTensor& tensor : contents->tensors) {
    for (const std::byte byte : tensor.bytes) {
      sum += std::to_integer<unsigned>(byte);
    }
  }
  for (const auto& [key, value] : contents->metadata.items()) {
    const auto strings = contents->metadata.strings(key);
    if (strings.ok()) {
      for (const std::string_view text : **strings) {
        sum += static_cast<unsigned>(text.size()) + (text.empty() ? 0u : unsigned(text.back()));
      }
    }
  }
  static_cast<void>(sum);
}

TensorRecord f32_tensor(std::string name) {
  return {.name = std::move(name), .dimensions = {8}, .type = 0, .data = std::string(32, 'x')};
}

TEST(Gguf, ReadsEveryTypeInBothVersions) {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder builder = sample_gguf();
    builder.version = version;
    const std::string file = builder.build();
    const auto contents = parse_gguf(as_bytes(file));
    ASSERT_TRUE(contents.ok()) << contents.error().message;
    EXPECT_EQ(contents->version, version);
    const GgufMetadata& metadata = contents->metadata;
    EXPECT_EQ(metadata.items().size(), 18u);
    EXPECT_EQ(metadata.items().front().first, "general.architecture");
    EXPECT_EQ(**metadata.unsigned_integer("a.u8"), 200u);
    EXPECT_EQ(**metadata.number("a.f32"), 0.5);
    EXPECT_EQ(**metadata.unsigned_integer("a.u64"), kMax);
    EXPECT_EQ(**metadata.number("a.f64"), 1e300);
    EXPECT_EQ(**metadata.boolean("a.bool"), true);
    EXPECT_THAT(**metadata.strings("b.strings"), ElementsAre("one", "\xff\xfe"));
    EXPECT_THAT(**metadata.integers("b.i32"), ElementsAre(-7, 7));
    EXPECT_THAT(**metadata.integers("b.u8"), ElementsAre(1, 2, 255));
    EXPECT_THAT(**metadata.booleans("b.bool"), ElementsAre(true, false));
    ASSERT_EQ(contents->tensors.size(), 3u);
    EXPECT_EQ(contents->tensors[1].encoding, encoding::Encoding::f16);
    EXPECT_THAT(contents->tensors[1].shape, ElementsAre(5, 3));
    EXPECT_THAT(contents->tensors[2].shape, ElementsAre(1, 2, 64));
    EXPECT_EQ(contents->tensors[2].bytes.size(), 72u);
    EXPECT_EQ(contents->tensors[2].bytes[71], std::byte{'q'});
  }
}

TEST(Gguf, OddButLegalFilesLoad) {
  GgufBuilder reversed = sample_gguf();
  reversed.data_reversed = true;
  const std::string file = reversed.build();
  const auto contents = parse_gguf(as_bytes(file));
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_EQ(contents->tensors[0].bytes[0], std::byte{'n'});
  EXPECT_EQ(contents->tensors[2].bytes[0], std::byte{'q'});

  EXPECT_EQ(error_of(sample_gguf().build() + "trailing"), "no error");
  EXPECT_EQ(error_of(GgufBuilder{}), "no error");
  EXPECT_EQ(error_of(GgufBuilder().u32("general.alignment", 1u << 30)), "no error");
  for (const std::uint32_t alignment : {8u, 64u, 4096u, 65536u}) {
    GgufBuilder aligned = sample_gguf();
    aligned.alignment = alignment;
    aligned.u32("general.alignment", alignment);
    EXPECT_EQ(error_of(aligned), "no error") << alignment;
  }
  GgufBuilder gap;
  TensorRecord late = f32_tensor("late");
  late.offset = 64;
  gap.tensor(late);
  EXPECT_EQ(error_of(gap.build() + std::string(64, 'x')), "no error");
  EXPECT_EQ(error_of(GgufBuilder().tensor(f32_tensor(std::string(1024, 'n')))), "no error");
  EXPECT_EQ(error_of(GgufBuilder().u32(std::string(65535, 'k'), 1)), "no error");
  EXPECT_EQ(error_of(GgufBuilder().u32("cl\xc3\xa9", 1)), "no error");
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string file = sample_gguf().build();
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string prefix = file.substr(0, size);
    parse_and_touch(prefix);
    EXPECT_NE(error_of(prefix), "no error") << size;
  }
  EXPECT_THAT(error_of(file.substr(0, file.size() - 1)), HasSubstr("tensor 'quantised'"));
}

TEST(Gguf, SurvivesEveryByteReplaced) {
  const std::string file = sample_gguf().build();
  const std::size_t header = sample_gguf().header().size();
  for (std::size_t at = 0; at < header; ++at) {
    for (const char value : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string changed = file;
      changed[at] = value;
      parse_and_touch(changed);
    }
  }
}

// Puts extreme numbers over every place of the header, so also over each count, length, type,
// dimension and offset.
TEST(Gguf, SurvivesExtremeNumbersEverywhere) {
  const std::string file = sample_gguf().build();
  const std::size_t header = sample_gguf().header().size();
  constexpr std::array<std::uint64_t, 12> kNumbers = {
      0,          1,          2,          (1ull << 31) - 1, 1ull << 32, (1ull << 42) + 1,
      1ull << 60, 1ull << 61, 1ull << 63, kMax - 31,        kMax - 7,   kMax};
  for (std::size_t at = 4; at + 8 <= header; ++at) {
    for (const std::uint64_t number : kNumbers) {
      std::string changed = file;
      changed.replace(at, 8, raw(number));
      parse_and_touch(changed);
      changed = file;
      changed.replace(at, 4, raw(static_cast<std::uint32_t>(number)));
      parse_and_touch(changed);
    }
  }
}

TEST(Gguf, RefusesForeignHeaders) {
  EXPECT_THAT(error_of(std::string()), HasSubstr("magic"));
  GgufBuilder file = sample_gguf();
  file.magic = "GGML";
  EXPECT_THAT(error_of(file), HasSubstr("not a GGUF file"));
  for (const auto& [version, text] :
       {std::pair(0u, "unknown GGUF version 0"), std::pair(1u, "version 1 is not supported"),
        std::pair(4u, "unknown GGUF version 4"), std::pair(0x03000000u, "big-endian"),
        std::pair(0x02000000u, "big-endian"), std::pair(0xffffffffu, "unknown GGUF version")}) {
    file = sample_gguf();
    file.version = version;
    EXPECT_THAT(error_of(file), HasSubstr(text));
  }
}

TEST(Gguf, RefusesCountsThatTheFileCannotHold) {
  for (const std::uint64_t count : {std::uint64_t{4}, std::uint64_t{1} << 20, kMax / 2, kMax}) {
    GgufBuilder file = sample_gguf();
    file.tensor_count = count;
    EXPECT_NE(error_of(file), "no error") << count;
    file = sample_gguf();
    file.key_count = count * 5;
    EXPECT_NE(error_of(file), "no error") << count;
  }
  GgufBuilder file;
  file.tensor_count = kMax;
  EXPECT_THAT(error_of(file), HasSubstr("the tensor count is 18446744073709551615"));
  file = {};
  file.key_count = 1000;
  EXPECT_THAT(error_of(file), HasSubstr("the metadata key count is 1000"));
}

TEST(Gguf, RefusesBadKeys) {
  const auto file = [] { return GgufBuilder(); };
  EXPECT_THAT(error_of(file().u32("", 1)), HasSubstr("name of metadata key 0 is empty"));
  EXPECT_THAT(error_of(file().u32("a", 1).u32("a", 2)), HasSubstr("'a' is there twice"));
  EXPECT_THAT(error_of(file().u32("a\xff", 1)), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of(file().u32(std::string_view("a\0b", 3), 1)), HasSubstr("'a\\x00b'"));
  EXPECT_THAT(error_of(file().u32(std::string(65536, 'k'), 1)), HasSubstr("limit of 65535"));
  GgufBuilder wrapping;
  wrapping.key_values.push_back(raw(kMax) + std::string(100, 'k'));
  EXPECT_THAT(error_of(wrapping), HasSubstr("18446744073709551615 bytes"));
}

TEST(Gguf, RefusesTheSmallestFileWithAnEmptyKey) {
  GgufBuilder file;
  file.key_values.push_back(raw<std::uint64_t>(0) + raw<std::uint32_t>(0) + std::string(1, '\0'));
  ASSERT_EQ(file.build().size(), 37u);
  EXPECT_NE(error_of(file), "no error");
}

TEST(Gguf, RefusesBadValues) {
  const auto file = [] { return GgufBuilder(); };
  for (const std::uint32_t type : {13u, 255u, 0x80000000u, 0xffffffffu}) {
    EXPECT_THAT(error_of(file().key("k", type, std::string(64, '\0'))),
                HasSubstr("metadata key 'k': unknown value type"));
    EXPECT_THAT(error_of(file().array("k", type, 1, std::string(64, '\0'))),
                HasSubstr("metadata key 'k': unknown array item type"));
  }
  for (const char value : {'\x02', '\x7f', '\xff'}) {
    EXPECT_THAT(error_of(file().key("k", 7, std::string(1, value))),
                HasSubstr("metadata key 'k': the bool value"));
    EXPECT_THAT(error_of(file().array("k", 7, 2, std::string("\x01") + value)),
                HasSubstr("metadata key 'k': item 1: the bool value"));
  }
  EXPECT_THAT(error_of(file().key("k", 8, raw(kMax))), HasSubstr("'k': the file ends within"));
}

TEST(Gguf, ReadsArraysOfArraysToALimitedDepth) {
  const auto nested = [](std::uint32_t type, std::uint64_t count, const std::string& items) {
    return raw(type) + raw(count) + items;
  };
  const std::string inner = nested(8, 1, gguf_string("x")) + nested(4, 0, "");
  const std::string file = GgufBuilder().array("k", 9, 2, inner).array("e", 9, 0, "").build();
  const auto contents = parse_gguf(std::as_bytes(std::span(file)));
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  const auto& array = std::get<GgufArray>(*contents->metadata.find("k"));
  const auto& items = std::get<std::vector<GgufArray>>(array.items);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(std::get<std::vector<std::string_view>>(items[0].items).front(), "x");
  EXPECT_EQ(items[1].size(), 0u);
  EXPECT_THAT(contents->metadata.strings("k").error().message, HasSubstr("an array of arrays"));
  std::string deep = nested(0, 0, "");
  for (int i = 0; i < 16; ++i) {
    deep = nested(9, 1, deep);
  }
  EXPECT_THAT(error_of(GgufBuilder().array("k", 9, 1, deep)), HasSubstr("more than 8 deep"));
  EXPECT_THAT(error_of(GgufBuilder().array("k", 9, kMax, inner)), HasSubstr("metadata key 'k'"));
}

TEST(Gguf, RefusesArraysThatTheFileCannotHold) {
  for (std::uint32_t type = 0; type <= 12; ++type) {
    for (const std::uint64_t count : {std::uint64_t{20}, std::uint64_t{1} << 26, (kMax >> 3) + 2,
                                      (kMax >> 2) + 2, kMax / 2 + 2, kMax}) {
      EXPECT_THAT(error_of(GgufBuilder().array("k", type, count, std::string(17, '\0'))),
                  HasSubstr("metadata key 'k'"))
          << type << " " << count;
    }
  }
}

TEST(Gguf, RefusesArraysOverTheLimitOfAllTogether) {
  const std::string value = raw<std::uint32_t>(7) + raw<std::uint64_t>(5) + std::string(5, '\1');
  std::uint64_t items_left = 9;
  GgufReader first(as_bytes(value));
  EXPECT_TRUE(read_gguf_value(first, 9, items_left).ok());
  EXPECT_EQ(items_left, 4u);
  GgufReader second(as_bytes(value));
  EXPECT_THAT(read_gguf_value(second, 9, items_left).error().message,
              HasSubstr("an array of 5 items"));
}

TEST(Gguf, RefusesBadAlignments) {
  for (const std::uint32_t bad : {0u, 1u, 4u, 7u, 24u, 33u, 1u << 31, 0xffffffffu}) {
    EXPECT_THAT(error_of(sample_gguf().u32("general.alignment", bad)),
                HasSubstr("metadata key 'general.alignment': is"))
        << bad;
  }
  const std::string wide = raw<std::uint64_t>(32);
  for (const std::uint32_t type : {0u, 1u, 2u, 3u, 5u, 6u, 10u, 11u, 12u}) {
    const std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    EXPECT_THAT(error_of(sample_gguf().key("general.alignment", type, wide.substr(0, sizes[type]))),
                HasSubstr("metadata key 'general.alignment': has type"))
        << type;
  }
  EXPECT_THAT(error_of(sample_gguf().string("general.alignment", "32")), HasSubstr("type string"));
  EXPECT_THAT(error_of(sample_gguf().array("general.alignment", 4, 1, raw<std::uint32_t>(32))),
              HasSubstr("type array"));
  // The type that wraps the padding elsewhere, with a size near 2^64.
  GgufBuilder wrapping;
  wrapping.key("general.alignment", 5, raw<std::int32_t>(-32))
      .tensor({.name = "big", .dimensions = {kMax / 4}, .type = 0, .data = "x"});
  EXPECT_THAT(error_of(wrapping), HasSubstr("has type i32, not u32"));
}

TEST(Gguf, RefusesBadTensorNames) {
  const auto with = [](std::string name) {
    return error_of(GgufBuilder().tensor(f32_tensor(std::move(name))));
  };
  EXPECT_THAT(with(""), HasSubstr("the name of tensor 0 is empty"));
  EXPECT_THAT(with("\xc3"), HasSubstr("the name of tensor 0 is not valid UTF-8"));
  EXPECT_THAT(with(std::string("a\0", 2)), HasSubstr("'a\\x00'"));
  EXPECT_THAT(with(std::string(1025, 'n')), HasSubstr("over the limit of 1024"));
  EXPECT_THAT(error_of(GgufBuilder().tensor(f32_tensor("w")).tensor(f32_tensor("w"))),
              HasSubstr("tensor 'w': is there twice"));
}

struct DimensionCase {
  std::vector<std::uint64_t> dimensions;
  std::uint32_t type;
  std::string_view problem;
};

TEST(Gguf, RefusesBadDimensions) {
  const std::vector<DimensionCase> cases = {
      {{}, 0, "has 0 dimensions"},
      {{1, 1, 1, 1, 1}, 0, "has 5 dimensions"},
      {{0}, 0, "dimension 0 is 0"},
      {{8, 0}, 0, "dimension 1 is 0"},
      {{8, 1, 1, 0}, 0, "dimension 3 is 0"},
      {{31}, 2, "dimension 0 is 31, no multiple of the 32 elements of a block of Q4_0"},
      {{32, 32}, 12, "no multiple of the 256 elements of a block of Q4_K"},
      {{(1ull << 42) + 1}, 0, "beyond the file"},
      {{(1ull << 42) + 1, 1ull << 22}, 0, "over 64 bits"},
      {{1ull << 62}, 0, "over 64 bits"},
      {{1ull << 32, 1ull << 32}, 24, "over 64 bits"},
      {{1ull << 32, 1ull << 32, 1ull << 32, 1ull << 32}, 24, "over 64 bits"},
      {{kMax}, 24, "beyond the file"},
      {{kMax, kMax}, 24, "over 64 bits"},
      {{kMax - 31}, 2, "beyond the file"},
      {{9}, 0, "beyond the file"},
      {{4, 3}, 0, "beyond the file"},
  };
  for (const DimensionCase& bad : cases) {
    TensorRecord record = f32_tensor("w");
    record.dimensions = bad.dimensions;
    record.type = bad.type;
    EXPECT_THAT(error_of(GgufBuilder().tensor(record)),
                AllOf(HasSubstr("tensor 'w'"), HasSubstr(bad.problem)));
  }
  TensorRecord record = f32_tensor("w");
  record.rank = 0xffffffff;
  EXPECT_THAT(error_of(GgufBuilder().tensor(record)), HasSubstr("tensor 'w': has 4294967295"));
}

TEST(Gguf, KnowsEveryTensorType) {
  for (std::uint32_t type = 0; type < 100; ++type) {
    TensorRecord record = f32_tensor("w");
    record.dimensions = {256};
    record.type = type;
    record.data = std::string(2048, 'x');
    const std::string file = GgufBuilder().tensor(record).build();
    const auto contents = parse_gguf(as_bytes(file));
    const bool removed =
        type == 4 || type == 5 || (type >= 31 && type <= 33) || (type >= 36 && type <= 38);
    const bool unsupported = type == 9 || type == 15 || (type >= 40 && type <= 42);
    EXPECT_EQ(contents.ok(), type <= 42 && !removed && !unsupported) << type;
    if (contents.ok()) {
      const encoding::EncodingInfo& format = encoding::info(contents->tensors[0].encoding);
      EXPECT_EQ(contents->tensors[0].bytes.size(),
                256 / format.block_elements * format.block_bytes);
      continue;
    }
    EXPECT_EQ(contents.error().code, unsupported ? Code::unsupported : Code::invalid_file) << type;
    EXPECT_THAT(contents.error().message, HasSubstr("tensor 'w'"));
    EXPECT_THAT(contents.error().message, HasSubstr(std::to_string(type)));
  }
}

TEST(Gguf, RefusesBadOffsets) {
  const auto with = [](std::uint64_t offset) {
    GgufBuilder file;
    TensorRecord record = f32_tensor("w");
    record.offset = offset;
    return error_of(file.tensor(f32_tensor("first")).tensor(record));
  };
  EXPECT_EQ(with(32), "no error");
  EXPECT_THAT(with(0), HasSubstr("overlaps tensor"));
  EXPECT_THAT(with(1), HasSubstr("tensor 'w': offset 1 is no multiple of the alignment 32"));
  EXPECT_THAT(with(40), HasSubstr("tensor 'w': offset 40 is no multiple"));
  EXPECT_THAT(with(64), HasSubstr("tensor 'w': 32 bytes at offset 64"));
  EXPECT_THAT(with(1ull << 63), HasSubstr("tensor 'w': 32 bytes at offset"));
  EXPECT_THAT(with(kMax - 31), HasSubstr("tensor 'w': 32 bytes at offset"));
  EXPECT_THAT(with(kMax), HasSubstr("tensor 'w': offset"));
}

TEST(Gguf, RefusesOverlapsOfAnyTwo) {
  GgufBuilder file;
  file.tensor({.name = "large", .dimensions = {32}, .type = 0, .data = std::string(128, 'x')});
  TensorRecord inner = f32_tensor("inner");
  inner.offset = 64;
  file.tensor(inner).tensor(f32_tensor("apart"));
  EXPECT_THAT(error_of(file), HasSubstr("tensor 'inner': overlaps tensor 'large'"));
}

TEST(Gguf, ReadsALargeVocabularyInOnePass) {
  constexpr std::uint64_t kTokens = 150'000;
  std::string tokens;
  std::string scores;
  for (std::uint64_t i = 0; i < kTokens; ++i) {
    tokens += gguf_string("token" + std::to_string(i));
    scores += raw(static_cast<float>(i));
  }
  GgufBuilder file;
  file.array("tokenizer.ggml.tokens", 8, kTokens, tokens)
      .array("tokenizer.ggml.scores", 6, kTokens, scores);
  const std::string bytes = file.build();
  const auto contents = parse_gguf(as_bytes(bytes));
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  const auto read = contents->metadata.strings("tokenizer.ggml.tokens");
  ASSERT_EQ((*read)->size(), kTokens);
  EXPECT_EQ((**read)[kTokens - 1], "token149999");
  // Not a copy: within the file's bytes.
  EXPECT_GE((**read)[0].data(), bytes.data());
  EXPECT_LT((**read)[0].data(), bytes.data() + bytes.size());
}

}  // namespace
}  // namespace zllm::weight
