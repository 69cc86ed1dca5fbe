// For small functions in the innermost loops, where a call would cost more than the work.
#pragma once

#define WEFT_HOT [[gnu::always_inline]] inline
