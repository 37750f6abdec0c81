// expect: (named|designator) 'attrs'
// Bottom halves have no pool of their own that attributes could choose.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .attrs = cmwq::attrs{}.nice(5)};
