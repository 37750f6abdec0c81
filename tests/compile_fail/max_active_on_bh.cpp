// expect: (named|designator) 'max_active'
// Bottom halves run one at a time for each CPU and priority.
#include <cmwq/workqueue.hpp>

cmwq::options<cmwq::bh> misuse{.name = "q", .max_active = 2};
