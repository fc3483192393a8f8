#include <zllm/weight/container/model_files.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <zllm/base/text.h>

#include "testing/gguf_builder.h"
#include "testing/safetensors_builder.h"
#include "testing/temporary_folder.h"

namespace zllm::weight {
namespace {

using ::testing::AllOf;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::raw;
using testing::safetensors_file;
using testing::sample_gguf;
using testing::sample_safetensors;
using testing::TemporaryFolder;

constexpr std::string_view kIndex = "model.safetensors.index.json";

std::string error_of(const std::string& path) {
  const auto model = open_model(path);
  return model.ok() ? "no error" : model.error().message;
}

// One U8 tensor of four bytes.
std::string shard(std::string_view tensor) {
  return safetensors_file(
      concat("{\"", tensor, R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"), "data");
}

std::string index_of(std::string_view map) { return concat(R"({"weight_map":{)", map, "}}"); }

TEST(HubFolder, OpensASingleFile) {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"model_type":"llama"})");
  folder.write("generation_config.json", R"({"eos_token_id":2})");
  folder.write("model.safetensors", sample_safetensors());
  const auto model = open_model(folder.path());
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(*model->config->find("model_type")->as_string(), "llama");
  EXPECT_TRUE(model->generation_config.has_value());
  EXPECT_FALSE(model->gguf.has_value());
  ASSERT_NE(model->tensors.find("matrix"), nullptr);
  EXPECT_EQ(model->tensors.find("absent"), nullptr);
  // The bytes are those of the mapping.
  const auto file = model->tensors.files()[0].bytes();
  EXPECT_GE(model->tensors.find("matrix")->bytes.data(), file.data());
  EXPECT_LT(model->tensors.find("matrix")->bytes.data(), file.data() + file.size());
  EXPECT_TRUE(model->tensors.check().ok());
}

TEST(HubFolder, PrefersTheIndexAndFollowsLinks) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "not looked at");
  folder.write("blob", shard("a"));
  std::filesystem::create_symlink("blob", folder.path("one.safetensors"));
  folder.write("two.safetensors", shard("b"));
  folder.write(kIndex, index_of(R"("a":"one.safetensors","b":"two.safetensors")"));
  const auto model = open_model(folder.path() + "/");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->tensors.entries().size(), 2u);
  EXPECT_EQ(model->tensors.files().size(), 2u);
}

TEST(HubFolder, RefusesIndexesThatPointOutside) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("outside.safetensors", shard("a"));
  std::filesystem::create_directory(folder.path("model"));
  folder.write("model/config.json", "{}");
  for (const std::string& name :
       {std::string("../outside.safetensors"), folder.path("outside.safetensors"),
        std::string("./x.safetensors"), std::string("a/b.safetensors"),
        std::string("..\\\\outside.safetensors"), std::string("C:x.safetensors"), std::string(".."),
        std::string("."), std::string(""), std::string(".safetensors"), std::string("x.bin"),
        std::string("x\\u0000.safetensors"), std::string(".hidden.safetensors")}) {
    folder.write(concat("model/", kIndex), index_of(concat(R"("a":")", name, "\"")));
    EXPECT_THAT(error_of(folder.path("model")),
                AllOf(HasSubstr(kIndex), HasSubstr("tensor 'a'"), HasSubstr("not the plain name")))
        << name;
  }
}

TEST(HubFolder, RefusesIndexesThatContradictTheFiles) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("one.safetensors", shard("a"));
  folder.write("two.safetensors", shard("b"));
  folder.write("twice.safetensors", shard("a"));
  const auto with = [&folder](std::string_view index) {
    folder.write(kIndex, index);
    return error_of(folder.path());
  };
  EXPECT_THAT(with(index_of(R"("a":"one.safetensors","c":"one.safetensors")")),
              AllOf(HasSubstr("tensor 'c'"), HasSubstr("'one.safetensors'")));
  EXPECT_THAT(with(index_of(R"("a":"two.safetensors","b":"one.safetensors")")),
              AllOf(HasSubstr("tensor"), HasSubstr("where it is listed")));
  EXPECT_THAT(with(index_of(R"("c":"two.safetensors")")),
              HasSubstr("two.safetensors: tensor 'b' is not listed"));
  EXPECT_THAT(with(index_of(R"("a":"one.safetensors","c":"twice.safetensors")")),
              AllOf(HasSubstr("twice.safetensors: tensor 'a' is also in"), HasSubstr("one.")));
  EXPECT_THAT(with(index_of(R"("a":"three.safetensors")")),
              HasSubstr("three.safetensors: cannot open"));
  EXPECT_THAT(with(index_of(R"("a":1)")), HasSubstr("tensor 'a': the file is a number"));
  EXPECT_THAT(with(index_of(R"("a":"one.safetensors","a":"one.safetensors")")),
              HasSubstr("duplicate key 'a'"));
  EXPECT_THAT(with(index_of("")), HasSubstr("lists no tensor"));
  EXPECT_THAT(with("{}"), HasSubstr("no object 'weight_map'"));
  EXPECT_THAT(with(R"({"weight_map":[]})"), HasSubstr("no object 'weight_map'"));
  EXPECT_THAT(with("[]"), HasSubstr("is of type array, not object"));
  EXPECT_THAT(with(""), HasSubstr("not valid JSON"));
}

TEST(HubFolder, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of(folder.path()), HasSubstr("neither model.safetensors nor"));
  folder.write("adapter.safetensors", sample_safetensors());
  EXPECT_THAT(error_of(folder.path()), HasSubstr("other safetensors"));
  folder.write("pytorch_model.bin", "PK");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("PyTorch weights"));
  folder.write("model.gguf", sample_gguf().build());
  EXPECT_THAT(error_of(folder.path()), HasSubstr("give the path of one of them"));
  folder.write("model.safetensors", sample_safetensors());
  EXPECT_THAT(error_of(folder.path()), HasSubstr("has no config.json"));
}

TEST(HubFolder, RefusesBadConfigs) {
  const TemporaryFolder folder;
  folder.write("model.safetensors", sample_safetensors());
  for (const std::string_view text :
       {"", "[]", "1", "{", "{\"a\":1,\"a\":2}", "{} {}", "{\"\xff\":1}"}) {
    folder.write("config.json", text);
    EXPECT_THAT(error_of(folder.path()), HasSubstr("config.json: ")) << text;
  }
  folder.write("config.json", "{}");
  folder.write("generation_config.json", "[]");
  EXPECT_THAT(error_of(folder.path()), HasSubstr("generation_config.json: is of type array"));
}

TEST(HubFolder, RefusesSpecialFilesWithoutBlocking) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  ASSERT_EQ(mkfifo(folder.path("model.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(error_of(folder.path()), HasSubstr("model.safetensors: is a FIFO"));
  EXPECT_THAT(error_of(folder.path("model.safetensors")), HasSubstr("is a FIFO"));
  std::filesystem::remove(folder.path("model.safetensors"));
  std::filesystem::create_directory(folder.path("model.safetensors"));
  EXPECT_THAT(error_of(folder.path()), HasSubstr("model.safetensors: is a directory"));
  std::filesystem::remove(folder.path("model.safetensors"));
  std::filesystem::create_symlink("/dev/zero", folder.path("model.safetensors"));
  EXPECT_THAT(error_of(folder.path()), HasSubstr("model.safetensors: is a device"));
  std::filesystem::remove(folder.path("model.safetensors"));
  std::filesystem::create_symlink("nowhere", folder.path("model.safetensors"));
  EXPECT_THAT(error_of(folder.path()), HasSubstr("model.safetensors: cannot open"));
}

TEST(OpenModel, RefusesWhatIsNoModel) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of(folder.write("x.safetensors", sample_safetensors())),
              HasSubstr("give the folder"));
  EXPECT_THAT(error_of(folder.write("x.bin", "PK")), HasSubstr("convert them"));
  EXPECT_THAT(error_of(folder.write("x.txt", "text")), HasSubstr("neither a GGUF file nor"));
  EXPECT_THAT(error_of(folder.write("empty", "")), HasSubstr("neither a GGUF file nor"));
  EXPECT_THAT(error_of(folder.write("x.gguf", "text")), HasSubstr("x.gguf: not a GGUF file"));
  EXPECT_THAT(error_of(folder.write("y.gguf", "")), HasSubstr("y.gguf: the file ends within"));
  EXPECT_THAT(error_of(folder.path("absent.gguf")), HasSubstr("absent.gguf: cannot open"));
  EXPECT_THAT(error_of(folder.path() + std::string("\0/..", 4)), HasSubstr("zero byte"));
  EXPECT_EQ(open_model("").error().code, Code::not_found);
}

TEST(OpenModel, OpensAGgufFileByItsContent) {
  const TemporaryFolder folder;
  const auto model = open_model(folder.write("blob", sample_gguf().build()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(**model->gguf->string("general.architecture"), "llama");
  EXPECT_EQ(model->tensors.entries().size(), 3u);
  EXPECT_FALSE(model->config.has_value());
}

TEST(OpenModel, AFileThatShrinksIsReported) {
  const TemporaryFolder folder;
  GgufBuilder file = sample_gguf();
  file.tensor(
      {.name = "big", .dimensions = {1 << 18}, .type = 24, .data = std::string(1 << 18, 'x')});
  const auto model = open_model(folder.write("m.gguf", file.build()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_TRUE(model->tensors.check().ok());
  ASSERT_EQ(truncate(folder.path("m.gguf").c_str(), 1000), 0);
  const auto bytes = model->tensors.find("big")->bytes;
  EXPECT_EQ(std::ranges::count(bytes.last(1 << 17), std::byte{0}), 1 << 17);
  ASSERT_FALSE(model->tensors.check().ok());
  EXPECT_THAT(model->tensors.check().error().message, HasSubstr("m.gguf: the file shrank"));
}

class SplitGguf : public ::testing::Test {
 protected:
  GgufBuilder part(std::uint16_t number, std::uint16_t count, std::int32_t tensors) const {
    GgufBuilder file;
    if (number == 0) {
      file.string("general.architecture", "llama");
    }
    file.key("split.no", 2, raw(number))
        .key("split.count", 2, raw(count))
        .key("split.tensors.count", 5, raw(tensors));
    file.tensor({.name = concat("t", number),
                 .dimensions = {32},
                 .type = 24,
                 .data = std::string(32, static_cast<char>('0' + number))});
    return file;
  }
  static std::string name(int number) { return concat("m-0000", number, "-of-00003.gguf"); }
  void write_set() const {
    for (std::uint16_t i = 0; i < 3; ++i) {
      folder_.write(name(i + 1), part(i, 3, 3).build());
    }
  }

  TemporaryFolder folder_;
};

TEST_F(SplitGguf, OpensByAnyPart) {
  write_set();
  for (int i = 1; i <= 3; ++i) {
    const auto model = open_model(folder_.path(name(i)));
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model->tensors.entries().size(), 3u);
    EXPECT_EQ(model->tensors.find("t2")->bytes[0], std::byte{'2'});
    EXPECT_EQ(**model->gguf->string("general.architecture"), "llama");
  }
}

TEST_F(SplitGguf, RefusesMissingPartsByName) {
  write_set();
  std::filesystem::remove(folder_.path(name(2)));
  EXPECT_THAT(error_of(folder_.path(name(1))), HasSubstr("m-00002-of-00003.gguf: cannot open"));
  EXPECT_THAT(error_of(folder_.path(name(3))), HasSubstr("m-00002-of-00003.gguf: cannot open"));
  EXPECT_EQ(open_model(folder_.path(name(1))).error().code, Code::not_found);
}

TEST_F(SplitGguf, RefusesInconsistentPartsByName) {
  const auto with = [this](const GgufBuilder& second) {
    write_set();
    folder_.write(name(2), second.build());
    return error_of(folder_.path(name(1)));
  };
  EXPECT_EQ(with(part(1, 3, 3)), "no error");
  EXPECT_THAT(with(part(2, 3, 3)), HasSubstr("m-00002-of-00003.gguf: its metadata says part 3"));
  EXPECT_THAT(with(part(1, 2, 3)), HasSubstr("00002-of-00003.gguf: its metadata says part 2 of 2"));
  EXPECT_THAT(with(part(1, 3, 4)), HasSubstr("00002-of-00003.gguf: metadata key 'split.tensors"));
  EXPECT_THAT(with(sample_gguf()), HasSubstr("m-00002-of-00003.gguf: "));
  EXPECT_THAT(with(part(1, 3, 3).string("general.architecture", "qwen2")),
              HasSubstr("00002-of-00003.gguf: metadata key 'general.architecture'"));
  EXPECT_THAT(with(part(1, 3, 3).u32("general.architecture", 1)),
              HasSubstr("'general.architecture' is an unsigned integer"));
  GgufBuilder twice = part(1, 3, 3);
  twice.tensors[0].name = "t0";
  EXPECT_THAT(with(twice), AllOf(HasSubstr("00002-of-00003.gguf: tensor 't0' is also in"),
                                 HasSubstr("00001-of-00003.gguf")));
  GgufBuilder more = part(1, 3, 3);
  more.tensor({.name = "extra", .dimensions = {1}, .type = 24, .data = "x"});
  EXPECT_THAT(with(more), HasSubstr("'split.tensors.count' is 3, but there are 4"));
  EXPECT_THAT(with(GgufBuilder{}),
              HasSubstr("m-00002-of-00003.gguf: its metadata says part 1 of 1"));
  folder_.write(name(2), "GGUF");
  EXPECT_THAT(error_of(folder_.path(name(1))), HasSubstr("m-00002-of-00003.gguf: the file ends"));
}

TEST_F(SplitGguf, RefusesPartsWhoseNamesTellNothing) {
  write_set();
  std::filesystem::rename(folder_.path(name(1)), folder_.path("renamed.gguf"));
  EXPECT_THAT(error_of(folder_.path("renamed.gguf")),
              AllOf(HasSubstr("is part 1 of 3"), HasSubstr("'-00001-of-00003.gguf'")));
}

TEST_F(SplitGguf, RefusesBadKeys) {
  const auto with = [this](const GgufBuilder& file) {
    return error_of(folder_.write("x.gguf", file.build()));
  };
  EXPECT_EQ(with(part(0, 1, 1)), "no error");
  EXPECT_THAT(with(part(0, 1, 2)), HasSubstr("x.gguf: metadata key 'split.tensors.count' is 2"));
  EXPECT_THAT(with(part(0, 0, 1)), HasSubstr("'split.count' is 0"));
  EXPECT_THAT(with(part(3, 3, 1)), HasSubstr("'split.no' is 3, not below"));
  EXPECT_THAT(with(part(65535, 65535, 1)), HasSubstr("'split.no' is 65535"));
  EXPECT_THAT(with(GgufBuilder().key("split.count", 10, raw<std::uint64_t>(~0ull))),
              HasSubstr("'split.count' is 18446744073709551615"));
  EXPECT_THAT(with(GgufBuilder().string("split.count", "3")), HasSubstr("'split.count' is a str"));
  EXPECT_THAT(with(GgufBuilder().u32("split.count", 3)), HasSubstr("but not 'split.no'"));
  EXPECT_THAT(with(GgufBuilder().u32("split.count", 1).key("split.no", 5, raw<std::int32_t>(-1))),
              HasSubstr("'split.no' is negative"));
}

}  // namespace
}  // namespace zllm::weight
