// Region: rope, must not compile
#include <zllm/encoding/encoding.h>
