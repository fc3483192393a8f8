// Region: conformance/cpu, compiles
#include <zllm/backend/cpu/cpu_backend.h>
