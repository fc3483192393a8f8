// Region: runtime, must not compile
#include <zllm/weight/assembly/mla_moe.h>
