#pragma once

#include <cstdint>
#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/conformance/case.h>
#include <zllm/conformance/fields.h>

namespace zllm::conformance {

// What a case of the operation says, all but its encoding and seed. What is out of range or
// contradicts itself becomes the fields' error.
Dimensions read_dimensions(backend::Op op, Fields& fields);

// Columns of the case's encoded matrices, which blocks of the encoding must divide.
std::vector<std::uint32_t> matrix_columns(const Case& one);

}  // namespace zllm::conformance
