// expect: a bottom-half queue
#include "case.hpp"

#include <cstdlib>

DEATH_CASE(other_reason) { std::abort(); }
