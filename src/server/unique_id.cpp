#include <zllm/server/unique_id.h>

#include <cstdint>
#include <random>
#include <string_view>

namespace zllm::server {

std::string unique_id(std::size_t length) {
  constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string id;
  id.reserve(length);
  for (std::size_t i = 0; i < length; ++i) {
    id += kLetters[letter(random)];
  }
  return id;
}

}  // namespace zllm::server
