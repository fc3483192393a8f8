// Region: runtime/glm5_next, must not compile
#include <zllm/backend/cpu/cpu_backend.h>
