// Region: runtime/dense/cpu, compiles
#include <zllm/backend/cpu/cpu_backend.h>
