// Region: kernel/cpu, compiles
#include <zllm/encoding/encoding.h>
