// Region: moe, must not compile
#include <zllm/backend/capability/moe.h>
