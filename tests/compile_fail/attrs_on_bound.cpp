// expect: (named|designator) 'attrs'
// A bound queue has no pool of its own that attributes could describe.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bound> misuse{.name = "q", .attrs = {}};
