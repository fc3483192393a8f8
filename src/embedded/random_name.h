#pragma once

#include <cstddef>
#include <string>

namespace zllm {

// So many random letters and digits; 24 of them never meet again. Thread-safe.
std::string random_name(std::size_t length);

}  // namespace zllm
