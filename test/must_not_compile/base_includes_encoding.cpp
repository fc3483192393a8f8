// Region: base, must not compile
#include <zllm/encoding/encoding.h>
