#include <zllm/embedded/random_name.h>

#include <random>
#include <string_view>

namespace zllm {

std::string random_name(std::size_t length) {
  constexpr std::string_view kSigns =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> place(0, kSigns.size() - 1);
  std::string name(length, '0');
  for (char& sign : name) {
    sign = kSigns[place(device)];
  }
  return name;
}

}  // namespace zllm
