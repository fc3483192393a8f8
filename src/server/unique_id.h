#pragma once

#include <cstddef>
#include <string>

namespace zllm::server {

// So many letters and digits from the system's random numbers: not to be guessed.
std::string unique_id(std::size_t length = 24);

}  // namespace zllm::server
