#include <zllm/weight/container/safetensors.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>

#include "testing/safetensors_builder.h"

namespace zllm::weight {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::raw;
using testing::safetensors_file;
using testing::sample_safetensors;

std::string error_of(const std::string& file) {
  const auto contents = parse_safetensors(as_bytes(file));
  return contents.ok() ? "no error" : contents.error().message;
}

// The error of a file with one tensor 'w' of the given fields and eight bytes of data.
std::string error_of_tensor(std::string_view fields) {
  return error_of(safetensors_file(concat(R"({"w":{)", fields, "}}"), "12345678"));
}

void parse_and_touch(std::string_view file) {
  const std::vector<std::byte> exact(as_bytes(file).begin(), as_bytes(file).end());
  const auto contents = parse_safetensors(exact);
  if (!contents.ok()) {
    EXPECT_FALSE(contents.error().message.empty());
    return;
  }
  unsigned sum = 0;
  for (const SafetensorsTensor& tensor : contents->tensors) {
    for (const std::byte byte : tensor.bytes) {
      sum += std::to_integer<unsigned>(byte);
    }
  }
  static_cast<void>(sum);
}

TEST(Safetensors, ReadsTensorsScalarsAndMetadata) {
  const std::string file = sample_safetensors();
  const auto contents = parse_safetensors(as_bytes(file));
  ASSERT_TRUE(contents.ok()) << contents.error().message;
  EXPECT_THAT(contents->metadata, ElementsAre(std::pair("format", "pt")));
  ASSERT_EQ(contents->tensors.size(), 4u);
  EXPECT_EQ(contents->tensors[0].name, "matrix");
  EXPECT_EQ(contents->tensors[0].encoding, encoding::Encoding::bf16);
  EXPECT_THAT(contents->tensors[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(contents->tensors[0].bytes.size(), 12u);
  // At an address that no float may have: legal.
  EXPECT_THAT(contents->tensors[1].shape, IsEmpty());
  EXPECT_EQ(contents->tensors[1].bytes.front(), std::byte{'s'});
  EXPECT_THAT(contents->tensors[2].shape, ElementsAre(0, 4));
  EXPECT_TRUE(contents->tensors[2].bytes.empty());
}

TEST(Safetensors, OddButLegalFilesLoad) {
  EXPECT_EQ(error_of(safetensors_file("{}", "")), "no error");
  EXPECT_EQ(error_of(safetensors_file("{}          ", "")), "no error");
  EXPECT_EQ(error_of(safetensors_file(R"({"__metadata__":{}})", "")), "no error");
  EXPECT_EQ(error_of_tensor(R"("data_offsets":[0,8],"dtype":"I64","shape":[1,1,1],"more":1)"),
            "no error");
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string file = sample_safetensors();
  for (std::size_t size = 0; size < file.size(); ++size) {
    parse_and_touch(file.substr(0, size));
    EXPECT_NE(error_of(file.substr(0, size)), "no error") << size;
  }
}

TEST(Safetensors, SurvivesEveryByteReplaced) {
  const std::string file = sample_safetensors();
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const char value : {'\x00', '\x7f', '\x80', '\xff', '"', '{', '}', '[', '9', '-', '\\'}) {
      std::string changed = file;
      changed[at] = value;
      parse_and_touch(changed);
    }
  }
}

TEST(Safetensors, RefusesBadHeaderLengths) {
  EXPECT_THAT(error_of(""), HasSubstr("only 0 bytes"));
  EXPECT_THAT(error_of("1234567"), HasSubstr("only 7 bytes"));
  EXPECT_THAT(error_of(std::string(8, '\xff')), HasSubstr("header length is 18446744073709551615"));
  EXPECT_THAT(error_of(raw<std::uint64_t>(0)), HasSubstr("does not start with '{'"));
  EXPECT_THAT(error_of(raw<std::uint64_t>(3) + "{}"), HasSubstr("beyond the file's 10 bytes"));
  EXPECT_THAT(error_of(raw<std::uint64_t>(100'000'001) + "{}"), HasSubstr("limit of 100000000"));
  EXPECT_THAT(error_of(raw<std::uint64_t>(100'000'000) + "{}"), HasSubstr("beyond the file"));
  for (const std::uint64_t length : {1ull << 31, 1ull << 32, 1ull << 63, ~0ull - 7, ~0ull - 8}) {
    EXPECT_THAT(error_of(raw<std::uint64_t>(length) + "{}"), HasSubstr("header length"));
  }
}

TEST(Safetensors, RefusesHeadersThatAreNoJsonObject) {
  for (const std::string_view header : {" {}", "[]", "1", "null", "\xef\xbb\xbf{}", "\"a\""}) {
    EXPECT_THAT(error_of(safetensors_file(header, "")), HasSubstr("does not start with '{'"));
  }
  using namespace std::string_view_literals;
  for (const std::string_view header :
       {"{"sv, "{}}"sv, "{} x"sv, "{}\0"sv, "{'a':1}"sv, "{\"a\":}"sv, "{\"a\" 1}"sv,
        "{\"\xff\":{}}"sv, "{\"a\":01}"sv, "{\"__metadata__\":{\"a\":NaN}}"sv}) {
    EXPECT_THAT(error_of(safetensors_file(header, "")), HasSubstr("the header: not valid JSON"))
        << header;
  }
  EXPECT_NE(error_of(safetensors_file(R"({"a":)" + std::string(1000, '['), "")), "no error");
  EXPECT_THAT(error_of(safetensors_file(R"({"a":[],"a":[]})", "")), HasSubstr("duplicate key 'a'"));
  EXPECT_THAT(error_of_tensor(R"("dtype":"I64","dtype":"I64")"),
              HasSubstr("duplicate key 'dtype'"));
}

TEST(Safetensors, RefusesBadMetadata) {
  EXPECT_THAT(error_of(safetensors_file(R"({"__metadata__":[]})", "")), HasSubstr("of type array"));
  EXPECT_THAT(error_of(safetensors_file(R"({"__metadata__":{"k":1}})", "")),
              HasSubstr("under 'k' a number"));
}

struct FieldCase {
  std::string_view fields;
  std::string_view problem;
};

TEST(Safetensors, RefusesBadFields) {
  const std::vector<FieldCase> cases = {
      {R"("shape":[1],"data_offsets":[0,8])", "no field 'dtype'"},
      {R"("dtype":"I64","data_offsets":[0,8])", "no field 'shape'"},
      {R"("dtype":"I64","shape":[1])", "no field 'data_offsets'"},
      {R"("dtype":1,"shape":[1],"data_offsets":[0,8])", "'dtype' is of type number"},
      {R"("dtype":"F99","shape":[1],"data_offsets":[900,908])", "unknown 'dtype' 'F99'"},
      {R"("dtype":"f64","shape":[1],"data_offsets":[0,8])", "unknown 'dtype' 'f64'"},
      {R"("dtype":"","shape":[1],"data_offsets":[0,8])", "unknown 'dtype'"},
      {R"("dtype":"Q8_0","shape":[1],"data_offsets":[0,8])", "unknown 'dtype' 'Q8_0'"},
      {R"("dtype":"I64","shape":1,"data_offsets":[0,8])", "'shape' is of type number"},
      {R"("dtype":"I64","shape":null,"data_offsets":[0,8])", "'shape' is of type null"},
      {R"("dtype":"I64","shape":[-1],"data_offsets":[0,8])", "item 0 of 'shape' is '-1'"},
      {R"("dtype":"I64","shape":[1,1.0],"data_offsets":[0,8])", "item 1 of 'shape'"},
      {R"("dtype":"I64","shape":[1e0],"data_offsets":[0,8])", "item 0 of 'shape'"},
      {R"("dtype":"I64","shape":["1"],"data_offsets":[0,8])", "item 0 of 'shape'"},
      {R"("dtype":"I64","shape":[[1]],"data_offsets":[0,8])", "item 0 of 'shape'"},
      {R"("dtype":"I64","shape":[18446744073709551616],"data_offsets":[0,8])", "item 0 of 'shape'"},
      {R"("dtype":"I64","shape":[18446744073709551615],"data_offsets":[0,8])", "over 64 bits"},
      {R"("dtype":"I64","shape":[4294967296,536870912],"data_offsets":[0,0])", "over 64 bits"},
      {R"("dtype":"I64","shape":[2],"data_offsets":[0,8])", "span 8 bytes, but"},
      {R"("dtype":"I64","shape":[0],"data_offsets":[0,8])", "span 8 bytes, but"},
      {R"("dtype":"I64","shape":[1],"data_offsets":{})", "'data_offsets' is of type object"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[])", "has 0 items, not 2"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[0,8,8])", "has 3 items, not 2"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[8,0])", "before they begin"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[-8,0])", "item 0 of 'data_offsets'"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[0,8.0])", "item 1 of 'data_offsets'"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[1,9])", "beyond the 8 bytes"},
      {R"("dtype":"I64","shape":[1],"data_offsets":[18446744073709551608,18446744073709551615])",
       "beyond the 8 bytes"},
      {R"("dtype":"I32","shape":[1],"data_offsets":[0,4])", "end at 4 of 8 bytes"},
      {R"("dtype":"I32","shape":[1],"data_offsets":[4,8])", "there is a hole"},
  };
  for (const FieldCase& bad : cases) {
    EXPECT_THAT(error_of_tensor(bad.fields), HasSubstr(bad.problem)) << bad.fields;
  }
  EXPECT_THAT(error_of_tensor(R"("dtype":"F99","shape":[],"data_offsets":[0,1])"),
              HasSubstr("tensor 'w': unknown"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) {
    ones += ",1";
  }
  EXPECT_THAT(error_of_tensor(concat(R"("dtype":"I64","shape":[)", ones, "]")),
              HasSubstr("'shape' has 65 items"));
}

TEST(Safetensors, RefusesTensorsThatAreNoObject) {
  for (const std::string_view value : {"1", "[]", "null", "\"x\"", "true"}) {
    EXPECT_THAT(error_of(safetensors_file(concat(R"({"w":)", value, "}"), "")),
                HasSubstr("tensor 'w': is of type"));
  }
}

TEST(Safetensors, RefusesBadNames) {
  const auto with = [](std::string_view name) {
    return error_of(safetensors_file(
        concat("{\"", name, R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"), ""));
  };
  EXPECT_EQ(with(std::string(1024, 'n')), "no error");
  EXPECT_THAT(with(""), HasSubstr("the name has 0 bytes"));
  EXPECT_THAT(with("a\\u0000b"), HasSubstr("tensor 'a\\x00b': the name has 3 bytes"));
  EXPECT_THAT(with(std::string(1025, 'n')), HasSubstr("the name has 1025 bytes"));
}

TEST(Safetensors, KnowsEveryType) {
  const std::vector<std::pair<std::string_view, std::size_t>> types = {
      {"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"F8_E8M0", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},      {"U64", 8},
      {"U32", 4},     {"U16", 2}, {"U8", 1},  {"BOOL", 1}};
  for (const auto& [type, size] : types) {
    EXPECT_EQ(error_of_tensor(concat(R"("dtype":")", type, R"(","shape":[)", 8 / size,
                                     R"(],"data_offsets":[0,8])")),
              "no error")
        << type;
  }
  for (const std::string_view type : {"F4", "F6_E2M3", "F6_E3M2", "C64", "F8_E4M3FNUZ"}) {
    const std::string file = safetensors_file(
        concat(R"({"w":{"dtype":")", type, R"(","shape":[8],"data_offsets":[0,8]}})"), "12345678");
    EXPECT_EQ(parse_safetensors(as_bytes(file)).error().code, Code::unsupported) << type;
  }
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  const auto with = [](std::string_view a, std::string_view b) {
    return error_of(
        safetensors_file(concat(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)", a,
                                R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)", b, "}}"),
                         "123456789"));
  };
  EXPECT_THAT(with("[0,4]", "[0,4]"), HasSubstr("tensor 'b': 'data_offsets' begin at 0"));
  EXPECT_THAT(with("[3,7]", "[0,4]"), HasSubstr("tensor 'a'"));
  EXPECT_THAT(with("[3,7]", "[0,4]"), HasSubstr("they overlap"));
  EXPECT_THAT(with("[0,4]", "[5,9]"), HasSubstr("tensor 'b'"));
  EXPECT_THAT(with("[0,4]", "[5,9]"), HasSubstr("there is a hole"));
  EXPECT_THAT(with("[0,4]", "[4,8]"), HasSubstr("the rest belongs to none"));
}

}  // namespace
}  // namespace zllm::weight
