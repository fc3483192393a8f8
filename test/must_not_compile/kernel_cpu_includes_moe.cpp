// Region: kernel/cpu, must not compile
#include <zllm/moe/spec.h>
