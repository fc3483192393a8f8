// Region: runtime/block, must not compile
#include <zllm/backend/cpu/cpu_backend.h>
