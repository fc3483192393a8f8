#pragma once

#include <zllm/text/family/family.h>

// Every family, each made once.
namespace zllm::text::family {

const Family& generic();
const Family& hermes();

}  // namespace zllm::text::family
