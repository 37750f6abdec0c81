// expect: (named|designator) 'max_active'
// A bottom-half context runs one item at a time.
#include <cmwq/cmwq.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .max_active = 2};
