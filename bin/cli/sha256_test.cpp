#include "sha256.h"

#include <string_view>

#include <gtest/gtest.h>

namespace zllm::cli {
namespace {

std::string hash(std::string_view text, std::size_t piece) {
  Sha256 hash;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    hash.add(std::as_bytes(std::span(text.substr(at, piece))));
  }
  return hash.finish();
}

// The examples of FIPS 180-2, appendix B.
TEST(Sha256, GivesThePublishedValues) {
  EXPECT_EQ(hash("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a'), 4096),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  const std::string text(1000, 'x');
  const std::string whole = hash(text, text.size());
  for (const std::size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 127u, 999u}) {
    EXPECT_EQ(hash(text, piece), whole) << piece;
  }
}

}  // namespace
}  // namespace zllm::cli
