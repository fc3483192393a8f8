#pragma once

#include <zllm/text/family/family.h>

// Every family, each made once.
namespace zllm::text::family {

const Family& deepseek_v3();
const Family& deepseek_v31();
const Family& deepseek_v32();
const Family& generic();
const Family& glm4();
const Family& harmony();
const Family& hermes();
const Family& kimi_k2();
const Family& llama3();
const Family& minimax();
const Family& mistral();
const Family& qwen3_coder();
const Family& seed_oss();

}  // namespace zllm::text::family
