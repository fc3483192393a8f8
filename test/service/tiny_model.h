#pragma once

#include <filesystem>
#include <string>

namespace zllm::test {

// A folder in the Hub's layout with the weights of a fixture and a tokenizer of small letters,
// digits and what JSON needs, a character a token. Removed with the object.
class TinyModel {
 public:
  // fixture: of test/fixtures/models, with a vocabulary of at least 64.
  explicit TinyModel(const std::string& fixture);
  TinyModel(const TinyModel&) = delete;
  TinyModel& operator=(const TinyModel&) = delete;
  ~TinyModel();

  std::string path() const { return folder_.string(); }

  // Renders conversations for it; an answer ends with its last token.
  static const char *chat_template();

 private:
  std::filesystem::path folder_;
};

}  // namespace zllm::test
