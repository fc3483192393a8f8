// Region: runtime/glm5_next, must not compile
#include <zllm/runtime/kimi_linear/kimi_linear.h>
