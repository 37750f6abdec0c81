// expect: (named|designator) 'max_active'
// proves: kernel-20
// An ordered queue runs one item at a time by definition.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::ordered> misuse{.name = "q", .max_active = 2};
