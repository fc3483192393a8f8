#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/detokenizer.h>
#include <zllm/text/tokenizer.h>

// Ids and text equal to what Hugging Face `tokenizers` made of the same texts: for the small
// tokenizers in test/fixtures/text, and for those in the folder ZLLM_TOKENIZER_VECTORS, which
// test/text/fetch_tokenizers.sh fills with real ones.
namespace zllm::text {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Json parse(const std::string& path) {
  Result<Json> json = Json::parse(read(path), path);
  EXPECT_TRUE(json.ok()) << (json.ok() ? "" : json.error().message);
  return json.ok() ? *json : Json();
}

std::vector<std::string_view> strings(const Json *array) {
  std::vector<std::string_view> out;
  if (array != nullptr) {
    for (const Json& item : *array->as_array()) {
      out.push_back(*item.as_string());
    }
  }
  return out;
}

template <class T>
std::vector<T> numbers(const Json *array) {
  std::vector<T> out;
  if (array != nullptr) {
    for (const Json& item : *array->as_array()) {
      double value = 0;
      EXPECT_TRUE(item.as_number(value));
      out.push_back(static_cast<T>(value));
    }
  }
  return out;
}

std::optional<std::uint64_t> number(const Json *json) {
  std::uint64_t value = 0;
  return json != nullptr && json->as_unsigned(value) ? std::optional(value) : std::nullopt;
}

std::optional<bool> boolean(const Json *json) {
  return json != nullptr ? std::optional(*json->as_bool()) : std::nullopt;
}

Result<Tokenizer> from_vocabulary(const Json& json) {
  const auto tokens = strings(json.find("tokens"));
  const auto scores = numbers<double>(json.find("scores"));
  const auto types = numbers<std::int64_t>(json.find("token_type"));
  const auto merges = strings(json.find("merges"));
  GgufVocabulary vocabulary;
  vocabulary.model = *json.find("model")->as_string();
  if (const Json *pre = json.find("pre")) {
    vocabulary.pre_tokenizer = *pre->as_string();
  }
  vocabulary.tokens = tokens;
  vocabulary.scores = scores;
  vocabulary.types = types;
  vocabulary.merges = merges;
  vocabulary.begin_of_sequence = number(json.find("bos_token_id"));
  vocabulary.end_of_sequence = number(json.find("eos_token_id"));
  vocabulary.add_begin = boolean(json.find("add_bos_token"));
  vocabulary.add_space_prefix = boolean(json.find("add_space_prefix"));
  return Tokenizer::from_gguf(vocabulary);
}

Result<Tokenizer> load(const Json& source) {
  if (const Json *path = source.find("tokenizer_json")) {
    return Tokenizer::from_json(read(*path->as_string()));
  }
  return from_vocabulary(parse(*source.find("vocabulary")->as_string()));
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Detokenizer detokenizer(tokenizer, Detokenizer::Start::text);
  std::string out;
  for (const TokenId id : ids) {
    out += detokenizer.add(id);
  }
  return out + detokenizer.flush();
}

void check(const std::string& path) {
  SCOPED_TRACE(path);
  const Json vectors = parse(path);
  const Result<Tokenizer> tokenizer = load(*vectors.find("source"));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  int wrong = 0;
  const Json::Array& cases = *vectors.find("cases")->as_array();
  for (const Json& one : cases) {
    const std::string& text = *one.find("text")->as_string();
    for (const bool special : {false, true}) {
      const Json *expected = one.find(special ? "special" : "plain");
      if (expected == nullptr) {
        continue;
      }
      const auto ids = tokenizer->encode(text, {.parse_special = special});
      ASSERT_TRUE(ids.ok()) << quote(text) << ": " << ids.error().message;
      const bool equal = *ids == numbers<TokenId>(expected);
      wrong += equal ? 0 : 1;
      EXPECT_TRUE(equal || wrong > 5) << (special ? "special " : "plain ") << quote(text) << "\n  "
                                      << ::testing::PrintToString(*ids) << "\n  "
                                      << ::testing::PrintToString(numbers<TokenId>(expected));
      const std::string whole = *tokenizer->decode(*ids);
      EXPECT_EQ(streamed(*tokenizer, *ids), whole);
      if (special && one.find("decoded") != nullptr) {
        EXPECT_EQ(whole, *one.find("decoded")->as_string()) << quote(text);
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << cases.size() << " texts";
}

void check_folder(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".vectors.json")) {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << folder;
  for (const std::string& file : files) {
    check(file);
  }
}

TEST(TokenizerVectors, SmallTokenizersGiveTheIdsOfHuggingFace) {
  check_folder("test/fixtures/text");
}

TEST(TokenizerVectors, FetchedTokenizersGiveTheIdsOfHuggingFace) {
  const char *folder = std::getenv("ZLLM_TOKENIZER_VECTORS");
  if (folder == nullptr) {
    GTEST_SKIP() << "ZLLM_TOKENIZER_VECTORS is not set";
  }
  check_folder(folder);
}

}  // namespace
}  // namespace zllm::text
